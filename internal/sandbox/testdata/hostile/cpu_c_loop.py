# why: TIM-07: a loop in C never looks for signals; the kill follows the interrupt.
# kind: cpu
# status: timeout
# after: any

import collections
import itertools

collections.deque(itertools.repeat(1), maxlen=0)
