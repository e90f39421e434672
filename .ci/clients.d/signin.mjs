// What the drivers of both TypeScript SDKs do where people sign in; see README.md.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";

const env = process.env;
const redirect = "http://127.0.0.1:1/callback"; // where nothing listens: the person's browser stops there

// person does what the person or the operator does, and returns what came of it.
const person = (...what) => execFileSync("python3", [env.RUNPYTHON_CLIENT_PERSON, ...what], { encoding: "utf8" }).trim();

// Provider keeps what an app keeps, in memory; the person at the browser always says yes.
export class Provider {
	redirectUrl = redirect;
	clientMetadataUrl = env.RUNPYTHON_CLIENT_DOCUMENT || undefined;
	clientMetadata = {
		client_name: "A driver",
		redirect_uris: [redirect],
		grant_types: ["authorization_code", "refresh_token"],
		response_types: ["code"],
		token_endpoint_auth_method: "none",
	};
	signIns = 0;
	state = () => (this.expected = randomUUID());
	clientInformation = () => this.information;
	saveClientInformation = (information) => void (this.information = information);
	tokens = () => this.kept;
	saveTokens = (tokens) => void (this.kept = tokens);
	codeVerifier = () => this.verifier;
	saveCodeVerifier = (verifier) => void (this.verifier = verifier);
	discoveryState = () => this.discovered;
	saveDiscoveryState = (state) => void (this.discovered = state);
	invalidateCredentials = (what) => {
		if (what === "all" || what === "client") this.information = undefined;
		if (what === "all" || what === "tokens") this.kept = undefined;
		if (what === "all" || what === "verifier") this.verifier = undefined;
	};
	redirectToAuthorization = (url) => {
		this.signIns++;
		this.left = new URL(person("allow", String(url)));
		assert.equal(this.left.origin + this.left.pathname, redirect);
		assert.equal(this.left.searchParams.get("state"), this.expected);
	};
}

// signIn goes through the life of an app that people connect. client has call and tools, finish takes the parameters
// with which the person comes back, and Unauthorized is what calls fail with until then.
export async function signIn(url, provider, client, finish, Unauthorized) {
	const text = (result) => result.content.filter((c) => c.type === "text").map((c) => c.text).join("\n");
	const call = async (message, chat_id) => {
		const args = chat_id ? { message, chat_id } : { message };
		let result;
		try {
			result = await client.call(args);
		} catch (e) {
			if (!(e instanceof Unauthorized)) throw e;
			await finish(provider.left.searchParams);
			result = await client.call(args);
		}
		assert.ok(!result.isError, text(result));
		return text(result);
	};
	assert.deepEqual((await client.tools()).map((t) => t.name), ["chat"]);
	assert.equal(provider.signIns, 0, "listing tools needs no token");

	const first = await call("x = 20");
	assert.equal(provider.signIns, 1);
	const id = provider.information.client_id;
	if (env.RUNPYTHON_CLIENT_DOCUMENT) assert.equal(id, env.RUNPYTHON_CLIENT_DOCUMENT);
	else assert.doesNotMatch(id, /^https:/);
	const [, chat] = first.match(/chat_id: ([a-z2-7]{26})$/);

	const before = provider.kept;
	person("expire", env.RUNPYTHON_CLIENT_DATABASE, env.RUNPYTHON_CLIENT_USER);
	assert.match(await call("x += 1\nx", chat), /\b21\b/);
	assert.equal(provider.signIns, 1, "a token that has ended is refreshed");
	assert.notEqual(provider.kept.access_token, before.access_token);
	assert.notEqual(provider.kept.refresh_token, before.refresh_token);

	person("disconnect", new URL(url).origin);
	const refused = await fetch(url, { method: "POST", headers: { authorization: `Bearer ${provider.kept.access_token}`, "content-type": "application/json" }, body: "{}" });
	assert.equal(refused.status, 401);
	assert.match(refused.headers.get("www-authenticate"), /error="invalid_token"/);
	assert.match(await call("x += 1\nx", chat), /\b22\b/);
	assert.equal(provider.signIns, 2);
	console.log(`${client.revision()} ${env.RUNPYTHON_CLIENT_DOCUMENT ? "by a document" : "registered"}: sign in, chat, refresh, disconnected, sign in anew`);
}
