# why: top-level await uses a loop; its classes and policies are patched to raise and the running one is stopped and closed.
# kind: kernel-module
# status: ok, error
# after: any
# next: 1 + 1
# next-value: 2

import asyncio


def fail(*_, **__):
    raise SystemError("no loop")


await asyncio.sleep(0)
asyncio.run = asyncio.Runner = asyncio.new_event_loop = asyncio.set_event_loop = fail
running = asyncio.get_running_loop()
running.stop()
running.close = fail
running.call_exception_handler = fail
