"""A line of text to words; words to numbers and ids, each kept as it is spelled. No compiler is loaded for it."""

import contextlib
import re

import numpy as np

from gpukit.errors import DataError
from gpukit.io.records import SHOWN

FLOAT32_MAX = float(np.finfo(np.float32).max)
USUAL, WIDEST = 256, 1 << 30  # letters of a text, bytes of an array of texts as wide as the widest
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # 1,234, which may have a decimal comma too
POINT = r"[+-]?(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?"  # a number with a point, and one with a comma
IN_NUMBER = re.compile(r"(?<=\d),(?=\d)")
COMMA = POINT.replace(r"\.", ",")
GROUPED = re.compile(r"[+-]?\d{1,3}(?:(?:,\d{3}){2,}(?:\.\d*)?|,\d{3}\.\d*|(?:\.\d{3}){2,}(?:,\d*)?|\.\d{3},\d*)")


def separator_of(lines, marks):
    """The first of the marks in a table's first lines [str] that parts as many fields of each, else the first of all;
    not a comma where all commas of the last line are in numbers such as 3,5 and another mark parts as many fields of
    each line. None where there is none."""
    there = next((some for line in lines if (some := [mark for mark in marks if mark in line])), [])
    if there[:1] == [","] and commas_are_decimal(lines[-1]):
        counts = {mark: {line.count(mark) for line in lines} for mark in marks if mark not in ", "}
        least = 1 if len(lines) > 1 else 2
        return next((mark for mark, some in counts.items() if len(some) == 1 and min(some) >= least), ",")
    alike = (mark for mark in there if len({line.count(mark) for line in lines}) == 1)
    return next(alike, there[0]) if there else None


def commas_are_decimal(line):
    """Whether a line has commas between digits alone."""
    return "," in line and "," not in IN_NUMBER.sub("", line)


def is_number(text, finite=True):
    """True for what spells a number that float32 can hold (any number, NaN and infinity too, when not finite)."""
    try:
        value = float(text)
    except ValueError:
        return False
    return "_" not in text and (not finite or abs(value) <= FLOAT32_MAX)


def with_point(text):
    """The text with a point in place of its comma where that spells a number, such as 3,5; else None."""
    changed = text.replace(",", ".")
    return changed if text.count(",") == 1 and is_number(changed) else None


def is_decimal_comma(text):
    """True for a number with a comma that stands for a point for certain: 3,5 and 12,3456, not 1,234."""
    return with_point(text) is not None and THOUSANDS.fullmatch(text) is None


def comma_told(text):
    """What is wrong with a number that has a comma and was not read, such as 3,5 or 1,234,567, behind `has`; None for
    anything else. 1,234 may be either."""
    if GROUPED.fullmatch(text):
        return "marks of thousands. Write it without them, and with a point where it has a fraction."
    if with_point(text) is None:
        return None
    if THOUSANDS.fullmatch(text):
        return "a comma, of thousands or a decimal one. Write it without the former, and with a point for the latter."
    return (
        "a decimal comma, which is read where no other number has a point and fields are not parted by commas. Write "
        f"it with a point: {with_point(text)}."
    )


def decimal_commas(raw, sep):
    """(text with points in place of decimal commas, True) of the text of a table, or (the text as it is, False).

    raw: bytes; sep: the separator of its fields, ' ' for any blanks. Numbers have decimal commas where each that
    has a comma has one, no other number has a point, and one at least is not what thousands look like (1,234): then
    all are read so. Where commas part the fields, those of numbers stand in quotes. `with_comma` takes each back.
    """
    if b"," not in raw or (sep == "," and b'"' not in raw):
        return raw, False
    commas = fields_of(COMMA, sep)
    if not any(is_decimal_comma(found[2].decode()) for found in commas.finditer(raw)):
        return raw, False
    if b"." in raw and fields_of(POINT, sep).search(raw):
        return raw, False
    return commas.sub(lambda found: found[1] + found[2].replace(b",", b"."), raw), True


def fields_of(form, sep):
    """The pattern of fields that are numbers of a form; its groups: what stands before the number, and the number."""
    marks, pad = (" \t", "") if sep == " " else (re.escape(sep), "[ \t]*+")
    pad = " *+" if sep == "\t" else pad
    quote = f'{pad}"{pad}' if sep == "," and form == COMMA else f'{pad}"?{pad}'
    return re.compile(rf"((?:\A|[{marks}\r\n]){quote})({form})(?={quote}(?:[{marks}\r\n]|\Z))".encode())


def with_comma(text):
    """A number with a comma in place of its point; another word as it is."""
    return text.replace(".", ",") if "." in text and is_number(text, finite=False) else text


def is_integer(word):
    """True for a whole number of 64 bits, spelled as Python prints it: its id may be kept as an integer."""
    digits = word.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 19):
        return False
    return str(int(word)) == word and -(2**63) <= int(word) < 2**63


def as_ids(words, what="the ids"):
    """(n,) ids of words: int64 where all are such integers, else text; what: names them in text_array's DataError."""
    return np.array(words, dtype=np.int64) if all(map(is_integer, words)) else text_array(words, what)


def text_array(words, what):
    """(n,) str of words, all as wide as the longest; DataError where one of them makes that more than WIDEST bytes, or
    ends in a byte of 0, which numpy would leave out."""
    longest = max(words, key=len, default="")
    check_width(len(words), len(longest), f"{what}: {shown(longest)}")
    ended = next((word for word in words if word.endswith("\0")), None)
    if ended is not None:
        raise DataError(f"{what}: {shown(ended)} ends in a byte of 0, which no text holds. Take it away.")
    return np.array(words, dtype=str)


def check_width(count, letters, what):
    """DataError for an array of so many words of so many letters that takes more than WIDEST bytes."""
    size = 4 * count * letters
    if letters > USUAL and size > WIDEST:
        raise DataError(
            f"{what} has {letters:,} letters, and {count:,} texts of that width take {size / 2**30:,.1f} GiB. Shorten "
            "it, or leave the line out."
        )


def decoded(raw):
    """Return bytes as text: UTF-8, else Windows' code page 1252, else Latin-1. Different bytes stay different text."""
    for encoding in ("utf-8", "cp1252"):  # five bytes have no letter in the latter
        with contextlib.suppress(UnicodeDecodeError):
            return raw.decode(encoding)
    return raw.decode("latin-1")


def shown(word):
    """A word or a line in quotes, cut to what a message bears."""
    return repr(word[:SHOWN])


def first_repeated(words):
    """The first of words [str] that has come before, or None."""
    seen = set()
    return next((word for word in words if word in seen or seen.add(word)), None)


def refuse_repeated(words, what):
    """DataError for the first of words [str] that has come before; what: names them."""
    twice = first_repeated(words)
    if twice is not None:
        raise DataError(f"{what} {shown(twice)} twice; each stands for one vertex.")
