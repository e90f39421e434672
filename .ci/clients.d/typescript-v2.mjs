// The official TypeScript SDK, major version 2, in the mode of negotiation that the first
// argument names, "legacy" or "auto": see README.md for what a driver does.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { drive } from "./drive.mjs";

const [mode, kind, ...target] = process.argv.slice(2);
const client = new Client({ name: "driver", version: "1" }, { versionNegotiation: { mode } });
const transport =
	kind === "stdio"
		? new StdioClientTransport({ command: target[0], args: target.slice(1), stderr: "inherit" })
		: new StreamableHTTPClientTransport(new URL(target[0]));
await client.connect(transport);
await drive({
	tools: async () => (await client.listTools()).tools,
	call: (args, options) => client.callTool({ name: "chat", arguments: args }, options),
	list: async () => (await client.listResources()).resources,
	read: async (uri) => (await client.readResource({ uri })).contents,
	revision: client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? "",
});
await client.close();
