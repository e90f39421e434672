# why: sys.stdout and sys.stderr are closed, which closes 1 and 2 below them; the next run must be able to print.
# kind: descriptor
# status: ok
# stdout-has: last words
# after: any
# next: print("again") or "printed"
# next-value: 'printed'

import sys

print("last words", flush=True)
sys.stdout.close()
sys.stderr.close()
sys.__stdin__.close()
