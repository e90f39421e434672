# why: the interpreter's monitoring calls a function that raises for every event in every frame, the kernel's too.
# kind: kernel-module
# status: ok, error, exit, crashed, timeout
# after: any
# next: 1 + 1
# next-value: 2

import sys

tool, seen = 3, [0]


def strike(*_):
    seen[0] += 1
    if seen[0] <= 5:
        raise SystemExit("monitored")
    sys.monitoring.set_events(tool, 0)


sys.monitoring.use_tool_id(tool, "hostile")
for event in (sys.monitoring.events.PY_START, sys.monitoring.events.PY_RETURN, sys.monitoring.events.LINE):
    sys.monitoring.register_callback(tool, event, strike)
sys.monitoring.set_events(
    tool, sys.monitoring.events.PY_START | sys.monitoring.events.PY_RETURN | sys.monitoring.events.LINE
)
