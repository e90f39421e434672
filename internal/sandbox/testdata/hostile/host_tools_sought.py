# why: programs that speak with the host's services find no service: no container runtime, no init system, no key agent.
# kind: host-read
# status: ok
# stdout-has: asked all
# stdout-not: BREACH
# after: kept

import glob
import os
import socket

places = [
    "/var/run/*.sock",
    "/run/*.sock",
    "/run/*/*.sock",
    "/run/*/*/*",
    "/tmp/.X11-unix/*",
    "/tmp/ssh-*/*",
    "/tmp/.s.*",
    "/dev/shm/*",
]
for path in [p for place in places for p in glob.glob(place)]:
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
        print("breach".upper(), path)
    except OSError as e:
        print(path, e.strerror)
for name in (
    "SSH_AUTH_SOCK",
    "DOCKER_HOST",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    "NOTIFY_SOCKET",
):
    if os.environ.get(name):
        print("breach".upper(), name)
print("asked all")
