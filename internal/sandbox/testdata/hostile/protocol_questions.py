# why: questions are forged: of other runs, more than a run may ask, without ever reading an answer; nobody is asked and the time limit holds.
# kind: protocol
# status: ok, error, timeout, killed, crashed
# after: any
# next: 40 + 2
# next-value: 42

import sys

asking = sys.stdin._asking
send, n = asking._channel.send, asking._run
for number in (n - 1, n + 1, 0, -1, 2**62):
    send({"op": "ask", "n": number, "id": 1}, b"of another run?")
for number in range(20_000):
    send({"op": "ask", "n": n, "id": number}, b"again?")
