"""The official Python SDK, major version 2, in the mode that the first argument names,
"legacy" or "auto": see README.md for what a driver does."""

import asyncio
import os
import sys

import httpx2
from drive import drive
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult
from signin import App, sign_in


async def main(mode, kind, *target):
    server = target[0]
    if kind == "stdio":
        server = StdioServerParameters(command=target[0], args=list(target[1:]), env=dict(os.environ))
    if kind == "signin":
        app = App(target[0], lambda back: AuthorizationCodeResult(**back))
        server = streamable_http_client(target[0], http_client=httpx2.AsyncClient(auth=app.auth, timeout=60))
    async with Client(server, mode=mode) as client:
        await (sign_in(app, client, client.protocol_version) if kind == "signin" else drive(client, client.protocol_version))


asyncio.run(main(*sys.argv[1:]))
