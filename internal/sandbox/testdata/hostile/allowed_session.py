# why: THR-09: a child in a session of its own ends in time, and one that would not is ended with the run.
# kind: process
# status: ok
# stdout-has: ended with 0
# after: kept

import subprocess

subprocess.Popen(["sleep", "3600"], start_new_session=True)
print("ended with", subprocess.Popen(["sleep", "0.1"], start_new_session=True).wait(5))
