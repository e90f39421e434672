# why: TIM-02: a loop swallows every exception, the interrupt too; the kernel is killed after the grace.
# kind: cpu
# status: timeout
# after: any

import time

while True:
    try:
        time.sleep(0.2)
    except BaseException:
        pass
