// What the drivers of both TypeScript SDKs do; see README.md.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const picture = readFileSync(new URL("picture.py", import.meta.url), "utf8");

// text is what a model reads of a result.
const text = (result) => result.content.filter((c) => c.type === "text").map((c) => c.text).join("\n");

export async function drive(client) {
	if (process.env.RUNPYTHON_CLIENT_SLEEP) return patience(client);
	assert.deepEqual((await client.tools()).map((t) => t.name), ["chat"]);

	const first = await client.call({ message: "x = 1+1\nx" });
	assert.ok(!first.isError && /\b2\b/.test(text(first)), text(first));
	const [, chat] = text(first).match(/chat_id: ([a-z2-7]{26})$/);

	const name = "a file ü.txt";
	const second = await client.call({ message: `print(x, file=open(${JSON.stringify(name)}, "w"))`, chat_id: chat });
	assert.match(text(second), /state: kept/);
	const link = second.content.find((c) => c.type === "resource_link");
	assert.equal(link?.name, name);
	assert.ok((await client.list()).some((r) => r.uri === link.uri), "the file is not listed");
	assert.equal((await client.read(link.uri))[0].text, "2\n");

	const third = await client.call({ message: picture, chat_id: chat });
	const shown = third.content.find((c) => c.type === "image");
	assert.equal(shown?.mimeType, "image/png");
	assert.equal(Buffer.from(shown.data, "base64").subarray(1, 4).toString(), "PNG");
	console.log(`${client.revision()} tool, chat, file, list, picture`);
}

// patience makes a call that takes longer than the client waits, and says when it gave up.
// RUNPYTHON_CLIENT_OPTIONS are the options of the call as JSON.
async function patience(client) {
	const seconds = process.env.RUNPYTHON_CLIENT_SLEEP;
	const options = JSON.parse(process.env.RUNPYTHON_CLIENT_OPTIONS ?? "{}");
	if (options.resetTimeoutOnProgress) options.onprogress = () => {};
	const message = process.env.RUNPYTHON_CLIENT_PRINTS
		? `import time\nfor i in range(${seconds}):\n    print(i, flush=True)\n    time.sleep(1)`
		: `import time\ntime.sleep(${seconds})`;
	const began = Date.now();
	let outcome;
	try {
		const result = await client.call({ message }, options);
		outcome = result.isError ? text(result) : "answered";
	} catch (e) {
		outcome = `gave up: ${e.message}`;
	}
	console.log(`${client.revision()} ${JSON.stringify(options)} ${Math.round((Date.now() - began) / 1000)} s: ${outcome}`);
}
