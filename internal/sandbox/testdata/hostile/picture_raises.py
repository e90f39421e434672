# why: _repr_png_ raises, takes arguments that it does not get, is no function or wants to be awaited; the text is shown instead.
# kind: repr
# status: ok, error, exit
# after: kept
# next: 1 + 1
# next-value: 2


class P:
    def _repr_png_(self, needed):
        raise SystemExit(needed)

    _repr_jpeg_ = 5

    async def _repr_svg_(self):
        pass


P()
