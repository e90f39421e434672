"""What the drivers of both Python SDKs do; see README.md."""

import base64
import json
import os
import pathlib
import re
import time

PICTURE = (pathlib.Path(__file__).parent / "picture.py").read_text()


def text(result):
    """What a model reads of a result."""
    return "\n".join(c.text for c in result.content if c.type == "text")


def field(value, *names):
    """A field that has another name in the other major version."""
    return next(getattr(value, n) for n in names if hasattr(value, n))


def check(holds, what):
    if not holds:
        raise SystemExit(f"not as it must be: {what}")


async def drive(client, revision):
    """client has call_tool, list_tools, list_resources and read_resource."""
    if "RUNPYTHON_CLIENT_SLEEP" in os.environ:
        return await patience(client, revision)
    tools = (await client.list_tools()).tools
    check([t.name for t in tools] == ["chat"], tools)

    first = await client.call_tool("chat", {"message": "x = 1+1\nx"})
    check(re.search(r"\b2\b", text(first)), text(first))
    chat = re.search(r"chat_id: ([a-z2-7]{26})$", text(first))[1]

    name = "a file ü.txt"
    second = await client.call_tool("chat", {"message": f"print(x, file=open({name!r}, 'w'))", "chat_id": chat})
    check("state: kept" in text(second), text(second))
    link = next(c for c in second.content if c.type == "resource_link")
    check(link.name == name, link)
    listed = [str(r.uri) for r in (await client.list_resources()).resources]
    check(str(link.uri) in listed, f"{link.uri} is not listed")
    contents = (await client.read_resource(link.uri)).contents
    check(contents[0].text == "2\n", contents)

    third = await client.call_tool("chat", {"message": PICTURE, "chat_id": chat})
    picture = next(c for c in third.content if c.type == "image")
    check(field(picture, "mime_type", "mimeType") == "image/png" and base64.b64decode(picture.data)[1:4] == b"PNG", "the picture")
    print(revision, "tool, chat, file, list, picture")


async def patience(client, revision):
    """Makes a call that takes longer than the client waits, and says when it gave up.

    RUNPYTHON_CLIENT_OPTIONS are the keyword arguments of the call as JSON.
    """
    seconds = os.environ["RUNPYTHON_CLIENT_SLEEP"]
    options = json.loads(os.environ.get("RUNPYTHON_CLIENT_OPTIONS", "{}"))

    async def heard(*_):
        pass

    message = f"import time\ntime.sleep({seconds})"
    if "RUNPYTHON_CLIENT_PRINTS" in os.environ:
        message = f"import time\nfor i in range({seconds}):\n    print(i, flush=True)\n    time.sleep(1)"
        options["progress_callback"] = heard
    began = time.monotonic()
    try:
        result = await client.call_tool("chat", {"message": message}, **options)
        outcome = "answered" if "exception" not in text(result) else text(result)
    except Exception as e:
        outcome = f"gave up: {e}"
    print(revision, list(options), f"{time.monotonic() - began:.0f} s:", outcome)
