# why: a task swallows its cancellation for ever while the run awaits it; the run ends at its limit.
# kind: cpu
# status: timeout
# after: any

import asyncio


async def stubborn():
    while True:
        try:
            await asyncio.sleep(0.01)
        except BaseException:
            pass


await asyncio.gather(*(stubborn() for _ in range(10)))
