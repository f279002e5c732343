"""Rows of csv as text, with quoted fields kept exactly."""

import ctypes
import functools
import re

from gpukit.errors import DataError

BLANKS = " \t\r"  # stripped around words
SHOWN = 80  # maximum letters of a word in a message
QUOTED = re.compile(rb'(?<![^\t,;| \r\n])"(?:[^"]|"")*+"(?=[\t,;| \r\n]|\Z)')  # a field between any separators
ODD = re.compile(r'[",;|]|^[ #%]| $| #')  # in a printable word: text that a reader would split, strip, or drop

_memchr = ctypes.CDLL(None).memchr  # of the C library: quicker than a comparison by numpy, and without Python's lock
_memchr.argtypes, _memchr.restype = (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t), ctypes.c_void_p


def find_byte(letters, byte):
    """Return the first place of a byte in letters (n,) uint8, contiguous; None if there is none."""
    start = letters.ctypes.data
    address = _memchr(start, byte, len(letters))
    return None if address is None else address - start


@functools.cache
def _patterns(sep):
    """Return the patterns of (a field and its separator, a line) of csv."""
    mark, blanks = " ++" if sep == " " else re.escape(sep), "[" + " \r\t".replace(sep, "") + "]"
    quoted = rf'"((?:[^"]|"")*+)"{blanks}*+(?={mark}|\n|\Z)'
    field = re.compile(rf' *+(?:{quoted}|((?!")[^{re.escape(sep)}]*+))(?:({mark})|\Z)')
    either = rf"(?> *+(?:{quoted}|[^{re.escape(sep)}\n]*+))"  # atomic: a quoted field has no other reading
    return field, re.compile(rf"(?:{either}{mark})*+{either}(?=\n|\Z)")


def words_of(line, sep):
    """Return the fields of one csv line; unquoted fields are stripped.

    None where a quote stays open or text follows a quoted field.
    """
    field, _ = _patterns(sep)
    words, position, more = [], 0, True
    while more:
        match = field.match(line, position)
        if match is None:
            return None
        words.append(match[2].strip(BLANKS) if match[1] is None else match[1].replace('""', '"'))
        position, more = match.end(), match[3]
    return words


def lines_of(text, sep):
    """Yield (number from 1, line) of csv; quoted line ends stay in their line."""
    if '"' not in text or len(sep) > 1:
        yield from enumerate(text.split("\n"), 1)
        return
    number, position, (_, whole) = 1, 0, _patterns(sep)
    while position <= len(text):
        line = whole.match(text, position)[0]
        yield number, line
        number, position = number + line.count("\n") + 1, position + len(line) + 1


def hidden(head):
    """Replace quoted line ends of a csv head by zero bytes."""
    return QUOTED.sub(lambda match: match[0].replace(b"\n", b"\0"), head) if b'"' in head else head


def csv_line(cells, sep=","):
    """Return one csv line with its newline.

    A cell is quoted if a reader would split, strip or drop it.
    """
    words = map(str, cells)
    return sep.join(['"' + word.replace('"', '""') + '"' if _is_odd(word, sep) else word for word in words]) + "\n"


def _is_odd(word, sep):
    return not word.isprintable() or sep in word or ODD.search(word) is not None or (sep == " " and not word)


def check_ids(ids, what):
    """Raise DataError for the first id that a text file cannot store.

    These ids are empty, have a zero byte, or are not valid UTF-8. ids: (n,); what: name in the message.
    """
    if ids.dtype.kind == "U":
        for word in ids.tolist():
            check_word(word, what)


def check_word(word, what):
    """Raise DataError for a word that UTF-8 text cannot store.

    Empty words are included. what: name in the message.
    """
    if not word:
        raise DataError(f"{what} is empty, and text cannot hold it. Rename it, or write a binary copy.")
    check_letters(word, what)


def check_letters(word, what):
    """Raise DataError for text with a zero byte or a surrogate.

    Empty text passes. what: name in the message.
    """
    why = "has a byte of 0" if "\0" in word else None
    if why is None and not word.isascii():
        try:
            word.encode()
        except UnicodeEncodeError:
            why = "has a surrogate, which UTF-8 does not hold"
    if why is not None:
        raise DataError(f"{what} {word[:SHOWN]!r} {why}, and text cannot hold it. Rename it, or write a binary copy.")
