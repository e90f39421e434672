# why: parsers get input nested a million deep: Python's own, literals, JSON, pickles, XML and regular expressions.
# kind: repr
# status: ok, error, crashed
# after: any
# next: 1 + 1
# next-value: 2

import ast
import json
import pickle
import re
import xml.etree.ElementTree

deep = 1_000_000
for name, attempt in {
    "compile": lambda: compile("(" * deep + ")" * deep, "x", "eval"),
    "minus": lambda: compile("-" * deep + "1", "x", "eval"),
    "attribute": lambda: compile("a" + ".a" * 100_000, "x", "eval"),
    "literal": lambda: ast.literal_eval("[" * 1000 + "]" * 1000),
    "json": lambda: json.loads("[" * deep),
    "pickle": lambda: pickle.loads(b"\x80\x04" + b"]" * deep + b"a" * (deep - 1) + b"."),
    "xml": lambda: xml.etree.ElementTree.fromstring("<a>" * 100_000 + "</a>" * 100_000),
    "expression": lambda: re.compile("(" * 100_000),
}.items():
    try:
        attempt()
        print(name, "parsed")
    except (RecursionError, MemoryError, SyntaxError, ValueError, re.error, pickle.UnpicklingError) as e:
        print(name, type(e).__name__)
