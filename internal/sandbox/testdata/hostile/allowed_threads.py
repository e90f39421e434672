# why: ISO-11: two thousand small jobs on thirty-two threads; rarely used system calls must not fail under load.
# kind: thread
# status: ok
# stdout-has: 2000
# after: kept

import concurrent.futures
import os

with concurrent.futures.ThreadPoolExecutor(32) as pool:
    print(sum(pool.map(lambda _: len(os.sched_getaffinity(0)) > 0, range(2000))))
