"""Rows of csv as text: fields that are quoted keep their blanks and line ends, when they are written and read."""

import functools
import re

from gpukit.errors import DataError

BLANKS = " \t\r"  # around words
SHOWN = 80  # letters of a word in a message
QUOTED = re.compile(rb'(?<![^\t,;| \r\n])"(?:[^"]|"")*+"(?=[\t,;| \r\n]|\Z)')  # a field between any separators
ODD = re.compile(r'[",;|]|^[ #%]| $| #')  # in a printable word: what a reader parts, strips, or leaves out as a comment


@functools.cache
def _patterns(sep):
    """(pattern of a field and the separator behind it, pattern of a line) of csv with a separator."""
    mark, blanks = " ++" if sep == " " else re.escape(sep), "[" + " \r\t".replace(sep, "") + "]"
    quoted = rf'"((?:[^"]|"")*+)"{blanks}*+(?={mark}|\n|\Z)'
    field = re.compile(rf' *+(?:{quoted}|((?!")[^{re.escape(sep)}]*+))(?:({mark})|\Z)')
    either = rf"(?> *+(?:{quoted}|[^{re.escape(sep)}\n]*+))"  # once quoted, a field is not read otherwise
    return field, re.compile(rf"(?:{either}{mark})*+{either}(?=\n|\Z)")


def words_of(line, sep):
    """The fields of one line of csv, without the blanks around those that are not quoted; None where a quote stays
    open, or text follows a quoted field."""
    field, _ = _patterns(sep)
    words, at, more = [], 0, True
    while more:
        found = field.match(line, at)
        if found is None:
            return None
        words.append(found[2].strip(BLANKS) if found[1] is None else found[1].replace('""', '"'))
        at, more = found.end(), found[3]
    return words


def lines_of(text, sep):
    """Yield (number from 1, line) of csv; the line ends within a quoted field belong to its line."""
    if '"' not in text or len(sep) > 1:
        yield from enumerate(text.split("\n"), 1)
        return
    number, at, (_, whole) = 1, 0, _patterns(sep)
    while at <= len(text):
        line = whole.match(text, at)[0]
        yield number, line
        number, at = number + line.count("\n") + 1, at + len(line) + 1


def hidden(head):
    """The first bytes of a csv, with bytes of 0 in place of the line ends within quoted fields."""
    return QUOTED.sub(lambda found: found[0].replace(b"\n", b"\0"), head) if b'"' in head else head


def csv_line(cells, sep=","):
    """One line of csv, its end included: a cell that a reader would part, strip or leave out is quoted."""
    words = map(str, cells)
    return sep.join(['"' + word.replace('"', '""') + '"' if _is_odd(word, sep) else word for word in words]) + "\n"


def _is_odd(word, sep):
    return not word.isprintable() or sep in word or ODD.search(word) is not None or (sep == " " and not word)


def check_ids(ids, what):
    """DataError for the first of ids (n,) that no text holds: empty, with a byte of 0, or not in UTF-8."""
    if ids.dtype.kind == "U":
        for word in ids.tolist():
            check_word(word, what)


def check_word(word, what):
    """DataError for text that no file of text in UTF-8 gives back; what: names it."""
    if not word:
        raise DataError(f"{what} is empty, and text cannot hold it. Rename it, or write a binary copy.")
    check_letters(word, what)


def check_letters(word, what):
    """DataError for text, which may be empty, with a letter that no file of text in UTF-8 gives back."""
    why = "has a byte of 0" if "\0" in word else None
    if why is None and not word.isascii():
        try:
            word.encode()
        except UnicodeEncodeError:
            why = "has a surrogate, which UTF-8 does not hold"
    if why is not None:
        raise DataError(f"{what} {word[:SHOWN]!r} {why}, and text cannot hold it. Rename it, or write a binary copy.")
