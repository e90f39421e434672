# why: tasks that never end and a thread's own loop are left behind by top-level await; the run is over with its last line.
# kind: cpu
# status: ok
# stdout-has: left them
# after: kept

import asyncio
import threading


async def forever():
    while True:
        await asyncio.sleep(0)


tasks = [asyncio.create_task(forever()) for _ in range(10)]
threading.Thread(target=asyncio.run, args=(forever(),), daemon=True).start()
await asyncio.sleep(0.1)
print("left them")
