# why: output comes from another program at full speed and not from Python; it is bounded all the same.
# kind: output
# status: timeout
# stdout-has: yes it is
# stdout-has: left out
# after: kept

import subprocess

subprocess.run(["yes", "yes it is"])
