# why: ISO-04: protection does not rest on hiding classes; ordinary introspection, which lists of forbidden words refuse, works.
# kind: kernel-module
# status: ok
# stdout-has: [<class 'subprocess.Popen'>]
# after: kept

import subprocess

print([k for k in ().__class__.__base__.__subclasses__() if k is subprocess.Popen])
