# why: an exception is set for the main thread with the last statement, so that it is raised inside of the kernel and not of the code.
# kind: kernel-module
# status: ok, error, exit, crashed
# after: any
# next: 1 + 1
# next-value: 2

import ctypes
import threading

thread = ctypes.c_ulong(threading.get_ident())
ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(SystemExit))
