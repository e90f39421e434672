// The official TypeScript SDK, major version 1: see README.md for what a driver does.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { drive } from "./drive.mjs";
import { Provider, signIn } from "./signin.mjs";

const [kind, ...target] = process.argv.slice(2);
const provider = kind === "signin" ? new Provider() : undefined;
const client = new Client({ name: "driver", version: "1" });
const transport =
	kind === "stdio"
		? new StdioClientTransport({ command: target[0], args: target.slice(1), stderr: "inherit" })
		: new StreamableHTTPClientTransport(new URL(target[0]), { authProvider: provider });
await client.connect(transport);
const driven = {
	tools: async () => (await client.listTools()).tools,
	call: (args, options) => client.callTool({ name: "chat", arguments: args }, CallToolResultSchema, options),
	list: async () => (await client.listResources()).resources,
	read: async (uri) => (await client.readResource({ uri })).contents,
	revision: () => transport.protocolVersion ?? "",
};
if (provider) await signIn(target[0], provider, driven, (back) => transport.finishAuth(back.get("code")), UnauthorizedError);
else await drive(driven);
await client.close();
