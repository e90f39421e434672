# why: a forked copy of the kernel comes to the end of the code as well; only the kernel itself may answer.
# kind: process
# status: ok
# stdout-has: parent speaks
# stdout-not: CHILD-VALUE
# after: kept
# next: 40 + 2
# next-value: 42

import os

child = os.fork()
if child:
    os.waitpid(child, 0)
    print("parent speaks")
"parent" if child else "child-value".upper()
