"""The official Python SDK, major version 2, in the mode that the first argument names,
"legacy" or "auto": see README.md for what a driver does."""

import asyncio
import os
import sys

from drive import drive
from mcp import Client, StdioServerParameters


async def main(mode, kind, *target):
    server = target[0]
    if kind == "stdio":
        server = StdioServerParameters(command=target[0], args=list(target[1:]), env=dict(os.environ))
    async with Client(server, mode=mode) as client:
        await drive(client, client.protocol_version)


asyncio.run(main(*sys.argv[1:]))
