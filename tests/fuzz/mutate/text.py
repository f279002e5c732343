"""Text: lines, fields, tokens, line ends, encodings."""

import re

from fuzz.mutate import raw
from fuzz.mutate.values import token

FIELD = re.compile(rb"[^,;|\t :\r\n]+")
ENDS = (b"\r", b"\r\n", b"\n\n", b"\n\r", b"\x0b", b"\x0c", "\u2028".encode(), b"\x85", b" \n", b"")


def field(data, rng):
    """Replace a field by a difficult token."""
    start, stop = _field(data, rng)
    return data[:start] + token(rng) + data[stop:]


def fields(data, rng):
    """Several fields replaced."""
    for _ in range(int(rng.integers(2, 6))):
        data = field(data, rng)
    return data


def column(data, rng):
    """Replace the same field of every line, from some line on."""
    lines, word, place = data.split(b"\n"), token(rng), int(rng.integers(4))
    for at in range(int(rng.integers(2)), len(lines)):
        found = list(FIELD.finditer(lines[at]))
        if len(found) > place:
            lines[at] = lines[at][: found[place].start()] + word + lines[at][found[place].end() :]
    return b"\n".join(lines)


def swap_fields(data, rng):
    """Two fields exchanged."""
    (a, b), (c, d) = sorted((_field(data, rng), _field(data, rng)))
    return data if c < b else data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def drop_field(data, rng):
    """Delete a field and its separator."""
    start, stop = _field(data, rng)
    return data[:start] + data[stop + 1 :]


def insert_token(data, rng):
    """Insert a token anywhere."""
    at = int(rng.integers(len(data) + 1))
    return data[:at] + token(rng) + data[at:]


def append_field(data, rng):
    """Append a field to a line."""
    lines = data.split(b"\n")
    at = int(rng.integers(len(lines)))
    lines[at] += bytes([rng.choice(list(b",\t ;|:"))]) + token(rng)
    return b"\n".join(lines)


def separator(data, rng):
    """Replace one separator, or all of a kind, by another."""
    here, there = (bytes([rng.choice(list(b",\t ;|:"))]) for _ in range(2))
    return data.replace(here, there, int(rng.choice([-1, 1, 3])))


def swap_lines(data, rng):
    """Two lines exchanged."""
    lines = data.split(b"\n")
    a, b = rng.integers(len(lines), size=2)
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def double_line(data, rng):
    """Repeat a line elsewhere."""
    lines = data.split(b"\n")
    lines.insert(int(rng.integers(len(lines) + 1)), lines[rng.integers(len(lines))])
    return b"\n".join(lines)


def drop_line(data, rng):
    """Delete one line or several adjacent ones."""
    lines = data.split(b"\n")
    at = int(rng.integers(len(lines)))
    del lines[at : at + int(rng.choice([1, 1, 5]))]
    return b"\n".join(lines)


def new_line(data, rng):
    """Insert a line of tokens."""
    lines, sep = data.split(b"\n"), bytes([rng.choice(list(b",\t ;|:#%"))])
    lines.insert(int(rng.integers(len(lines) + 1)), sep.join(token(rng) for _ in range(int(rng.integers(5)))))
    return b"\n".join(lines)


def line_ends(data, rng):
    """Change all line ends, or one."""
    end = ENDS[rng.integers(len(ENDS))]
    if rng.random() < 0.6:
        return data.replace(b"\n", end)
    parts = data.split(b"\n")
    at = int(rng.integers(len(parts)))
    return b"\n".join(parts[:at]) + end + b"\n".join(parts[at:])


def last_newline(data, rng):
    """Delete the last newline, or add many."""
    return data.rstrip(b"\n") + b"\n" * int(rng.choice([0, 2, 50]))


def encoding(data, rng):
    """Add a byte order mark, use UTF-16, insert invalid UTF-8."""
    text = data.decode("utf-8", "replace")
    return (
        b"\xef\xbb\xbf" + data,
        b"\xef\xbb\xbf\xef\xbb\xbf" + data,
        text.encode("utf-16"),
        text.encode("utf-16-be", "replace"),
        data.replace(b"1", b"\xe9", 1),
        data.replace(b"1", "\uff11".encode()),
    )[rng.integers(6)]


def quotes(data, rng):
    """Quote a field, completely or not."""
    start, stop = _field(data, rng)
    opened, closed = ((b'"', b'"'), (b'"', b""), (b"", b'"'), (b'"', b'"x'), (b"'", b"'"), (b'"a,', b'"'))[
        rng.integers(6)
    ]
    return data[:start] + opened + data[start:stop] + closed + data[stop:]


def long_line(data, rng):
    """A line of many fields, or of one very long one."""
    lines = data.split(b"\n")
    at, sep = int(rng.integers(len(lines))), bytes([rng.choice(list(b",\t ;|:x1"))])
    lines[at] += (sep + lines[at][:8]) * int(rng.choice([10, 1000, 20000]))
    return b"\n".join(lines)


def only(data, rng):
    """Keep few lines.

    The first, a middle one, the header and one, or only blanks.
    """
    lines = data.split(b"\n")
    at = int(rng.integers(len(lines)))
    return (lines[0], lines[at], lines[0] + b"\n" + lines[at], b"\n" * 5, b" ", b"\n".join(lines[: at + 1]))[
        rng.integers(6)
    ]


def _field(data, rng):
    """[start, stop) of a field."""
    start = int(rng.integers(len(data) + 1))
    found = FIELD.search(data, start) or FIELD.search(data)
    if not found:
        return start, start
    while start and found.start() == start and data[start - 1 : start].isalnum():
        start -= 1
    return start if found.start() <= start else found.start(), found.end()


LINES = (
    *(
        field,
        field,
        field,
        field,
        fields,
        fields,
        column,
        swap_fields,
        drop_field,
        insert_token,
        append_field,
        separator,
    ),
    *(swap_lines, double_line, drop_line, new_line, line_ends, line_ends, last_newline, encoding, quotes, only),
)
TEXT = (*LINES, *LINES, long_line, *raw.BYTES)
