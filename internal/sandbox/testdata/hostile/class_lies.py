# why: the value says that it is a table, a figure and a picture of well-known libraries; it is none, and its methods end the process.
# kind: repr
# status: ok
# after: kept
# next: 1 + 1
# next-value: 2

import os


class DataFrame:
    __module__ = "pandas.core.frame"
    shape = (1 << 60, 1 << 60)

    @property
    def __class__(self):
        return str

    def to_markdown(self, *_, **__):
        os._exit(6)

    to_string = to_html = savefig = save = head = itertuples = to_markdown

    def __repr__(self):
        return "no table"


DataFrame()
