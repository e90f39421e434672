"""The person and the operator whom clients that sign in need; see README.md.

    person.py documents FOLDER          serves FOLDER/client.json over TLS and prints its URL, until it is ended
    person.py allow URL                 signs in, allows what is asked for, prints where that leads
    person.py disconnect ISSUER         signs in and disconnects all apps
    person.py expire DATABASE USER      lets the access tokens of the user's apps end now

The name is in RUNPYTHON_CLIENT_USER, the password in RUNPYTHON_CLIENT_PASSWORD.
"""

import html.parser
import http.cookiejar
import http.server
import json
import os
import pathlib
import sqlite3
import ssl
import sys
import urllib.parse
import urllib.request


class Page(html.parser.HTMLParser):
    """The forms of a page: where each is sent to, its fields, and its buttons."""

    def __init__(self, text):
        super().__init__()
        self.forms = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        if tag == "form":
            self.forms.append({"action": a["action"], "fields": {}, "buttons": {}})
        elif tag in ("input", "button") and "name" in a and self.forms:
            self.forms[-1]["fields" if tag == "input" else "buttons"].setdefault(a["name"], []).append(a.get("value", ""))

    def form(self, field, value=None):
        """The first form that has a field or button of that name and value, or None."""
        for f in self.forms:
            values = f["fields"].get(field, []) + f["buttons"].get(field, [])
            if values and (value is None or value in values):
                return f
        return None


class Stay(urllib.request.HTTPRedirectHandler):
    """Follows redirects within the server and tells of the first that leaves it."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if urllib.parse.urlsplit(newurl).netloc != req.host:
            raise Left(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Left(Exception):
    """The server has sent the browser elsewhere."""


class Browser:
    """A browser without scripts, of somebody who knows a password."""

    def __init__(self):
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()), Stay()
        )

    def go(self, url, form=None):
        request = urllib.request.Request(url)
        if form is not None:
            request.data = urllib.parse.urlencode(form).encode()
            request.add_header("Origin", urllib.parse.urljoin(url, "/")[:-1])
        with self.opener.open(request, timeout=30) as answer:
            self.url = answer.url
            self.text = answer.read().decode()
        self.page = Page(self.text)

    def press(self, button, value=None, **filled):
        """Fills the form that has the button or field and sends it; what is hidden in it goes along."""
        form = self.page.form(button, value)
        if form is None:
            raise SystemExit(f"no form with {button} {value or ''} in:\n{self.text}")
        fields = {name: values[0] for name, values in form["fields"].items()} | filled
        if value is not None:
            fields[button] = value
        self.go(urllib.parse.urljoin(self.url, form["action"]), fields)

    def enter(self, url):
        self.go(url)
        if self.page.form("password"):
            self.press("password", username=os.environ["RUNPYTHON_CLIENT_USER"], password=os.environ["RUNPYTHON_CLIENT_PASSWORD"])


def allow(url):
    browser = Browser()
    browser.enter(url)
    try:
        browser.press("action", "approve")
    except Left as left:
        print(left)
        return
    raise SystemExit(f"allowing leads nowhere:\n{browser.text}")


def disconnect(issuer):
    browser = Browser()
    browser.enter(issuer + "/account")
    if not browser.page.form("revoke"):
        raise SystemExit(f"no app is connected:\n{browser.text}")
    while form := browser.page.form("revoke"):
        browser.press("revoke", form["buttons"]["revoke"][0])


def expire(database, user):
    with sqlite3.connect(database, timeout=30) as db:
        changed = db.execute(
            "UPDATE tokens SET expires = 1 WHERE kind = 'access' AND grant_id IN"
            " (SELECT g.id FROM grants g JOIN users u ON u.id = g.subject WHERE u.name = ? AND g.client <> '')",
            (user,),
        ).rowcount
    if not changed:
        raise SystemExit("there is no access token")


def documents(folder):
    folder = pathlib.Path(folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = f"https://127.0.0.1:{server.server_port}/client.json"
    content = json.dumps(json.loads((folder / "client.json").read_text()) | {"client_id": url}).encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/client.json" else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server.RequestHandlerClass = Handler
    print(url, flush=True)
    server.serve_forever()


{"documents": documents, "allow": allow, "disconnect": disconnect, "expire": expire}[sys.argv[1]](*sys.argv[2:])
