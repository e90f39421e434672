# why: MEM-06: threads burn the processor and the interpreter lock during and after the run; the chat still answers.
# kind: thread
# status: ok
# stdout-has: started
# after: kept

import threading


def burn():
    while True:
        pass


for _ in range(8):
    threading.Thread(target=burn, daemon=True).start()
print("started")
