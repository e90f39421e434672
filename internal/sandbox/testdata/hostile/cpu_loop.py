# why: TIM-01: an endless loop; the interrupt ends it, the sentence names the limit and the variables are still there.
# kind: cpu
# status: timeout
# after: kept
# next: x
# next-value: 41

x = 41
while True:
    pass
