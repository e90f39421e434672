# why: THR-03 and THR-05: workers of the default start method and of fork find functions of the chat; none is left after the run.
# kind: process
# status: ok
# stdout-has: fork [1, 4, 9]
# stdout-has: default [1, 4, 9]
# after: kept

import multiprocessing


def square(x):
    return x * x


if __name__ == "__main__":
    for name in ("fork", None):
        with multiprocessing.get_context(name).Pool(2) as pool:
            print(name or "default", pool.map(square, [1, 2, 3]))
