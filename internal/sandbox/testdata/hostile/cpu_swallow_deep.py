# why: the interrupt is swallowed in a finally that returns, in a generator and in an exit handler, so that each gives way to the next.
# kind: cpu
# status: timeout
# after: any

import contextlib


@contextlib.contextmanager
def stubborn():
    while True:
        try:
            yield
        except BaseException:
            pass
        return


def endless():
    while True:
        try:
            while True:
                with stubborn():
                    pass
        finally:
            continue


endless()
