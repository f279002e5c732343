"""A line of text to words; words to numbers and ids, each kept as it is spelled. No compiler is loaded for it."""

import csv
import re

import numpy as np

from gpukit.errors import DataError

FLOAT32_MAX = float(np.finfo(np.float32).max)
USUAL, WIDEST = 256, 1 << 30  # letters of a text, bytes of an array of texts as wide as the widest
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # 1,234, which may have a decimal comma too
SHOWN = 80  # letters of a word or a line in a message


def words_of(line, sep):
    """The fields of one line of csv without the blanks around them; None where a quote stays open."""
    reader = csv.reader([line + "\n", ""], delimiter=sep, skipinitialspace=True)
    try:
        words = next(reader)
    except csv.Error:  # carriage returns within the line
        return None
    return [word.strip() for word in words] if reader.line_num == 1 else None


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


def decimal_comma(text):
    """What to say of a number such as 3,5, behind `has`; of 1,234 that it may be something else."""
    if THOUSANDS.fullmatch(text):
        return "a comma, of thousands or a decimal one. Write it without the former, and with a point for the latter."
    return f"a decimal comma. Numbers are read with a point, {with_point(text)}: write the file again with points."


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
    """(n,) str of words, all as wide as the longest; DataError where one of them makes that more than WIDEST bytes."""
    longest = max(words, key=len, default="")
    check_width(len(words), len(longest), f"{what}: {shown(longest)}")
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
    """bytes as text: UTF-8, else Latin-1, so that different bytes are different text."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
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
