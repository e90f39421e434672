# why: an audit hook, which cannot be removed, refuses the ways in which a socket is written to; the kernel uses another or is replaced.
# kind: kernel-module
# status: ok, crashed
# after: any
# next: 1 + 1
# next-value: 2

import sys


def refuse(event, _):
    if event in ("socket.sendmsg", "socket.sendto"):
        raise RuntimeError("not this way")


sys.addaudithook(refuse)
