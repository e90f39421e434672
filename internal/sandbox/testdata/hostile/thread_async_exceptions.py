# why: a thread throws exceptions into the main thread, also while the kernel makes its answer; at worst this kernel is lost.
# kind: thread
# status: ok, error, exit, crashed, timeout
# after: any

import ctypes
import threading
import time

main = ctypes.c_ulong(threading.main_thread().ident)
end = time.monotonic() + 1


def throw():
    while time.monotonic() < end:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(main, ctypes.py_object(SystemExit))
        time.sleep(0.001)


threading.Thread(target=throw, daemon=True).start()
