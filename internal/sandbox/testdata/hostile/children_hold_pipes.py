# why: TIM-05: a background shell holds the output pipes while the code loops; the call returns at the limit, with no process left.
# kind: process
# status: timeout
# stdout-has: x
# after: kept

import subprocess

subprocess.Popen("while true; do echo x; sleep 1; done", shell=True)
while True:
    pass
