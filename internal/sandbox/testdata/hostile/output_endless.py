# why: OUT-02: print without end; the server keeps its bound, says how much was left out and ends the run at its limit.
# kind: output
# status: timeout
# stdout-has: 1234567890
# stdout-has: left out
# after: kept

while True:
    print("1234567890" * 1000)
