# why: modules named like the plotting and table libraries are put into sys.modules; the kernel's hooks for them raise and are left alone.
# kind: repr
# status: ok
# after: kept
# next: 1 + 1
# next-value: 2

import sys


class Fake:
    def __getattr__(self, name):
        raise SystemExit(name)


for name in (
    "matplotlib",
    "matplotlib.pyplot",
    "matplotlib._pylab_helpers",
    "pandas",
    "numpy",
    "numpy.random",
    "PIL",
    "PIL.Image",
    "plotly",
    "altair",
    "IPython",
):
    sys.modules[name] = Fake()
print("faked")
