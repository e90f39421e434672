// Passkeys, which browsers give to scripts only. A form with data-passkey is shown where there are any. When it is sent, the server says at
// data-options what to ask the authenticator for, and the answer goes with the form to where all forms go.
(() => {
  "use strict";
  if (!window.PublicKeyCredential || !navigator.credentials) return;

  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const text = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

  // What is told of each error of the browser, by its name.
  const told = {
    NotAllowedError: "No passkey was used: it was cancelled, or it took too long. Try again.",
    InvalidStateError: "This device has a passkey for you here already.",
    ConstraintError: "This device cannot make sure that it is you. Set up a PIN, fingerprint or face on it, or use another one.",
    NotSupportedError: "This device has no passkeys that this server takes. Use another one.",
    SecurityError: "This browser has no passkeys for the address of this page.",
  };

  // Told is an error whose message is for the person.
  class Told extends Error {}

  async function optionsOf(form) {
    let answer;
    try {
      answer = await fetch(form.dataset.options, { method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "error" });
    } catch {
      throw new Told("The server does not answer. Try again.");
    }
    if (answer.ok) return answer.json();
    const plain = (answer.headers.get("Content-Type") || "").startsWith("text/plain");
    throw new Told(plain ? await answer.text() : "This page is too old. Load it anew, and try again.");
  }

  const ceremonies = {
    async create(publicKey) {
      publicKey.user.id = bytes(publicKey.user.id);
      for (const known of publicKey.excludeCredentials || []) known.id = bytes(known.id);
      const made = await navigator.credentials.create({ publicKey });
      const { clientDataJSON, attestationObject } = made.response;
      const transports = made.response.getTransports ? made.response.getTransports() : [];
      return [made, { clientDataJSON: text(clientDataJSON), attestationObject: text(attestationObject), transports }];
    },
    async get(publicKey) {
      const used = await navigator.credentials.get({ publicKey });
      const { clientDataJSON, authenticatorData, signature, userHandle } = used.response;
      return [used, {
        clientDataJSON: text(clientDataJSON), authenticatorData: text(authenticatorData), signature: text(signature),
        userHandle: userHandle ? text(userHandle) : undefined,
      }];
    },
  };

  async function answerOf(form) {
    const publicKey = await optionsOf(form);
    publicKey.challenge = bytes(publicKey.challenge);
    const [credential, response] = await ceremonies[form.dataset.passkey](publicKey);
    const id = text(credential.rawId);
    return JSON.stringify({ id, rawId: id, type: credential.type, response });
  }

  for (const form of document.querySelectorAll("form[data-passkey]")) {
    const status = form.querySelector("[role=status]");
    const problem = form.querySelector("[role=alert]");
    let busy = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (busy) return;
      busy = true;
      problem.textContent = "";
      status.textContent = "Waiting for your passkey…";
      try {
        form.elements.answer.value = await answerOf(form);
        form.submit();
      } catch (error) {
        problem.textContent = error instanceof Told ? error.message : told[error.name] || "The passkey did not work in this browser. Try again, or use another one.";
      } finally {
        status.textContent = "";
        busy = false;
      }
    });
    form.hidden = false;
    form.querySelector("[autofocus]")?.focus(); // it was not there yet when the page had its focus
  }
  for (const note of document.querySelectorAll("[data-without-passkeys]")) note.hidden = true;
})();
