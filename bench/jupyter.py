"""Measures ipykernel for the benchmark, with the client library that belongs to it.

One request a line comes in, one answer a line goes out, both JSON:

  {"do": "call", "n": 40}    40 times 1+1 in one living kernel    {"ms": [...]}
  {"do": "new", "n": 2}      2 new kernels, each until its 1+1    {"ms": [...]}
  {"do": "memory", "n": 1}   anonymous memory of the living one   {"bytes": 50000000}

What goes wrong is {"error": "..."}. The end of the input ends the kernels.
"""

import json
import sys
import time

from jupyter_client.manager import start_new_kernel

MOST = 1000  # calls or kernels of one request
LIMIT = 30  # seconds that one call may take


class Kernel:
    """One kernel with the defaults of its project, and nothing between it and us."""

    def __init__(self):
        self.manager, self.client = start_new_kernel(kernel_name="python3")

    def evaluate(self):
        """Evaluates 1+1 and takes nothing but 2 for an answer."""
        values = []

        def hear(message):
            if message["msg_type"] == "execute_result":
                values.append(message["content"]["data"]["text/plain"])

        reply = self.client.execute_interactive("1+1", output_hook=hear, timeout=LIMIT, allow_stdin=False)
        if reply["content"]["status"] != "ok" or values != ["2"]:
            raise RuntimeError(f"1+1 is {values}, status {reply['content']['status']}")

    def memory(self):
        with open(f"/proc/{self.manager.provisioner.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) * 1024
        raise RuntimeError("the system does not tell the memory of a process")

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def timed(work, count):
    spent = []
    for _ in range(count):
        begun = time.perf_counter()
        work()
        spent.append((time.perf_counter() - begun) * 1e3)
    return spent


def new_kernels(count):
    spent = []
    for _ in range(count):
        begun = time.perf_counter()
        kernel = Kernel()
        try:
            kernel.evaluate()
            spent.append((time.perf_counter() - begun) * 1e3)
        finally:
            kernel.close()
    return spent


def answer(living, do, count):
    if do == "call":
        return {"ms": timed(living.evaluate, count)}
    if do == "new":
        return {"ms": new_kernels(count)}
    if do == "memory":
        return {"bytes": living.memory()}
    raise ValueError(f"no such request: {do}")


def main():
    living = Kernel()
    try:
        living.evaluate()
        for line in sys.stdin:
            try:
                request = json.loads(line)
                reply = answer(living, request["do"], min(int(request["n"]), MOST))
            except Exception as error:  # whatever it is, the benchmark has to know
                reply = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(reply), flush=True)
    finally:
        living.close()


if __name__ == "__main__":
    main()
