# why: TIM-04: what was printed before an endless sleep, without a flush, is in the result beside the notice.
# kind: time
# status: timeout
# stdout-has: step 1
# after: kept

import time

print("step 1")
time.sleep(999999)
