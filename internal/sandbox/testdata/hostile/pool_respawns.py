# why: workers of a multiprocessing pool die at once and are replaced for ever; the run ends at its limit, the pool with it.
# kind: process
# status: timeout
# after: any

import multiprocessing
import os

with multiprocessing.get_context("fork").Pool(4, initializer=os._exit, initargs=(1,)) as pool:
    pool.apply(abs, [1])
