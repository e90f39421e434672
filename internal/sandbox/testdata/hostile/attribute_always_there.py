# why: a mock has every attribute that one asks for, _repr_png_ and savefig too; it is shown as text and makes no picture.
# kind: repr
# status: ok
# after: kept
# next: 1 + 1
# next-value: 2

from unittest.mock import MagicMock

MagicMock()
