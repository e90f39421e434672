# why: names with newlines, escapes, quotes, broken UTF-8, direction marks and 255 bytes; each is listed safely or left out.
# kind: file-trick
# status: ok
# stdout-has: named
# after: kept

import os

for name in (
    b"a\nb.txt",
    b"\x1b[2J\x1b]0;owned\x07",
    b"\xff\xfe\xfd",
    b"\xed\xa0\x80",
    b"x" * 255,
    b"\xc3\xa9" * 127,
    b"e\xcc\x81",
    b"\xc3\xa9",
    b" ",
    b".hidden",
    b"...",
    b"a\\b",
    b"%2e%2e%2f",
    b"..\xc0\xaf",
    b"-rf",
    b"$(id)",
    b"`id`",
    b"'\"<script>",
    b"con.txt",
    b"a:b",
    b"*",
    "\u202egpj.exe".encode(),
    "\u2028\u2029".encode(),
    b"a\rb",
    b"a\tb",
    b'{"op":"done"}',
    b"chat_id: aaaa",
):
    try:
        with open(b"/work/" + name, "wb") as f:
            f.write(b"x")
    except OSError as e:
        print(name, e.strerror)
print("named")
