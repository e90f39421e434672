# why: programs are started until the process limit; the error is an ordinary one, and after the run all of them are gone.
# kind: process
# status: error, timeout
# error-has: temporarily unavailable
# after: kept
# next: __import__("subprocess").run(["true"]).returncode
# next-value: 0

import subprocess

children = []
while True:
    children.append(subprocess.Popen(["sleep", "1000"]))
