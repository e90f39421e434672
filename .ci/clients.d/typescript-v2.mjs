// The official TypeScript SDK, major version 2, in the mode of negotiation that the first
// argument names, "legacy" or "auto": see README.md for what a driver does.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { drive } from "./drive.mjs";
import { Provider, signIn } from "./signin.mjs";

const [mode, kind, ...target] = process.argv.slice(2);
const provider = kind === "signin" ? new Provider() : undefined;
const client = new Client({ name: "driver", version: "1" }, { versionNegotiation: { mode } });
const transport =
	kind === "stdio"
		? new StdioClientTransport({ command: target[0], args: target.slice(1), stderr: "inherit" })
		: new StreamableHTTPClientTransport(new URL(target[0]), { authProvider: provider });
await client.connect(transport);
const driven = {
	tools: async () => (await client.listTools()).tools,
	call: (args, options) => client.callTool({ name: "chat", arguments: args }, options),
	list: async () => (await client.listResources()).resources,
	read: async (uri) => (await client.readResource({ uri })).contents,
	revision: () => client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? "",
};
if (provider) await signIn(target[0], provider, driven, (back) => transport.finishAuth(back), UnauthorizedError);
else await drive(driven);
await client.close();
