"""The official Python SDK, major version 1: see README.md for what a driver does."""

import asyncio
import datetime
import os
import sys

from drive import drive
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from signin import App, sign_in


class Client(ClientSession):
    async def call_tool(self, name, arguments, read_timeout_seconds=None, **options):
        if read_timeout_seconds is not None:
            read_timeout_seconds = datetime.timedelta(seconds=read_timeout_seconds)
        return await super().call_tool(name, arguments, read_timeout_seconds, **options)


async def main(kind, *target):
    if kind == "stdio":
        transport = stdio_client(StdioServerParameters(command=target[0], args=list(target[1:]), env=dict(os.environ)))
    else:
        app = App(target[0], lambda back: (back["code"], back["state"]))
        transport = streamablehttp_client(target[0], auth=app.auth if kind == "signin" else None)
    async with transport as (receive, send, *_), Client(receive, send) as client:
        revision = (await client.initialize()).protocolVersion
        await (sign_in(app, client, revision) if kind == "signin" else drive(client, revision))


asyncio.run(main(*sys.argv[1:]))
