"""What the drivers of both Python SDKs do where people sign in; see README.md."""

import os
import pathlib
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

from drive import check, field, text
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata

REDIRECT = "http://127.0.0.1:1/callback"  # where nothing listens: the person's browser stops there
DOCUMENT = os.environ.get("RUNPYTHON_CLIENT_DOCUMENT") or None


def person(*what):
    """Does what the person or the operator does, and returns what came of it."""
    program = pathlib.Path(__file__).with_name("person.py")
    return subprocess.run([sys.executable, program, *what], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


class Storage:
    """Keeps what an app keeps, in memory."""

    tokens = info = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.info

    async def set_client_info(self, info):
        self.info = info


class App:
    """An app whose person at the browser always says yes."""

    def __init__(self, url, came_back):
        """came_back makes what the SDK wants to know of the parameters with which the person returns."""
        self.url = url
        self.came_back = came_back
        self.sign_ins = 0
        self.storage = Storage()
        self.auth = OAuthClientProvider(
            server_url=url,
            client_metadata=OAuthClientMetadata(
                client_name="A driver",
                redirect_uris=[REDIRECT],
                grant_types=["authorization_code", "refresh_token"],
                response_types=["code"],
                token_endpoint_auth_method="none",
            ),
            storage=self.storage,
            redirect_handler=self.redirect,
            callback_handler=self.callback,
            client_metadata_url=DOCUMENT,
        )

    async def redirect(self, url):
        self.sign_ins += 1
        self.left = person("allow", url)
        check(self.left.startswith(REDIRECT + "?"), self.left)

    async def callback(self):
        return self.came_back(dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.left).query)))

    def forget_time(self):
        """Makes the SDK believe that its access token has ended: it refreshes by the clock alone."""
        self.auth.context.token_expiry_time = 1


async def sign_in(app, client, revision):
    """Goes through the life of an app that people connect. client has call_tool and list_tools."""

    async def call(message, chat=None):
        result = await client.call_tool("chat", {"message": message} | ({"chat_id": chat} if chat else {}))
        check(not field(result, "is_error", "isError"), text(result))
        return text(result)

    check([t.name for t in (await client.list_tools()).tools] == ["chat"], "the list of tools")
    check(app.sign_ins == 0, "listing tools needs no token")

    first = await call("x = 20")
    check(app.sign_ins == 1, f"{app.sign_ins} sign-ins")
    identity = str(app.storage.info.client_id)
    check(identity == DOCUMENT if DOCUMENT else not identity.startswith("https:"), identity)
    chat = re.search(r"chat_id: ([a-z2-7]{26})$", first)[1]

    before = app.storage.tokens
    person("expire", os.environ["RUNPYTHON_CLIENT_DATABASE"], os.environ["RUNPYTHON_CLIENT_USER"])
    app.forget_time()
    check(re.search(r"\b21\b", await call("x += 1\nx", chat)), "the variable is lost")
    check(app.sign_ins == 1, "a token that has ended is refreshed")
    after = app.storage.tokens
    check(after.access_token != before.access_token and after.refresh_token != before.refresh_token, "the tokens are the same")

    person("disconnect", urllib.parse.urljoin(app.url, "/")[:-1])
    try:
        urllib.request.urlopen(urllib.request.Request(app.url, b"{}", {"Authorization": f"Bearer {after.access_token}"}), timeout=30)
        raise SystemExit("a token of an app that was disconnected is good")
    except urllib.error.HTTPError as refused:
        check(refused.code == 401 and 'error="invalid_token"' in refused.headers["WWW-Authenticate"], refused)
    check(re.search(r"\b22\b", await call("x += 1\nx", chat)), "the variable is lost")
    check(app.sign_ins == 2, f"{app.sign_ins} sign-ins")
    print(revision, "by a document:" if DOCUMENT else "registered:", "sign in, chat, refresh, disconnected, sign in anew")
