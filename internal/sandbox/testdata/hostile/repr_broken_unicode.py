# why: VAL-08's kind: the text holds lone surrogates, NUL, escapes and direction marks; the result is valid UTF-8 or an error.
# kind: repr
# status: ok, error
# after: kept
# next: 1 + 1
# next-value: 2


class R:
    def __repr__(self):
        return "\ud800\udfff\x00\x1b]0;x\x07\u202e\ufffe" * 1000


R()
