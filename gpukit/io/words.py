"""Split lines of text to words; parse words as numbers and ids; find blank lines at the end of a text.

No compiler is loaded.
"""

import contextlib
import functools
import re

import numpy as np

from gpukit.errors import DataError
from gpukit.io import notes
from gpukit.io.records import SHOWN

FLOAT32_MAX = float(np.finfo(np.float32).max)
FLOAT32_TINY = float(np.finfo(np.float32).tiny)  # the least normal number
WIDEST = 1 << 30  # maximum bytes of a text array
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # 1,234, which may also be a decimal comma
POINT = r"[+-]?(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?"  # a number with a point, and one with a comma
TOO_SMALL = "closer to 0 than float32 holds"
IN_NUMBER = re.compile(r"(?<=\d),(?=\d)")
COMMA = POINT.replace(r"\.", ",")
GROUPED = re.compile(r"[+-]?\d{1,3}(?:(?:,\d{3}){2,}(?:\.\d*)?|,\d{3}\.\d*|(?:\.\d{3}){2,}(?:,\d*)?|\.\d{3},\d*)")


def separator_of(lines, marks):
    """Return the separator of a table's first lines [str], or None.

    This is the first mark with the same count in each line, else the first mark at all. A comma is rejected if all
    commas of the last line are in numbers such as 3,5 and another mark has the same count in each line.
    """
    present = next((some for line in lines if (some := [mark for mark in marks if mark in line])), [])
    if present[:1] == [","] and commas_are_decimal(lines[-1]):
        counts = {mark: {line.count(mark) for line in lines} for mark in marks if mark not in ", "}
        least = 1 if len(lines) > 1 else 2
        return next((mark for mark, some in counts.items() if len(some) == 1 and min(some) >= least), ",")
    alike = (mark for mark in present if len({line.count(mark) for line in lines}) == 1)
    return next(alike, present[0]) if present else None


def commas_are_decimal(line):
    """Return True if all commas of a line are between digits."""
    return "," in line and "," not in IN_NUMBER.sub("", line)


def is_number(text, finite=True):
    """Return True for text that spells a number within float32.

    finite=False: any number, NaN and infinity included.
    """
    try:
        value = float(text)
    except ValueError:
        return False
    return "_" not in text and (not finite or abs(value) <= FLOAT32_MAX)


def number_fault(word, kind):
    """Return why a word is no number of a dtype, or None."""
    if not is_number(word, finite=False):
        return "not a number"
    if abs(float(word)) <= float(np.finfo(kind).max):
        return None
    is_spelled = word.strip().lstrip("+-").lower() in ("inf", "infinity", "nan")
    return "not a finite number" if is_spelled else f"not a finite {kind}: it is larger than {kind} holds"


def rounds_to_zero(numbers):
    """Return True for numbers (n,) other than 0 that float32 rounds to 0."""
    with np.errstate(over="ignore"):
        return (np.asarray(numbers, np.float32) == 0) & (np.asarray(numbers, np.float64) != 0)


def with_point(text):
    """Return a number such as 3,5 with a point, else None."""
    changed = text.replace(",", ".")
    return changed if text.count(",") == 1 and is_number(changed) else None


def is_decimal_comma(text):
    """Return True for an unambiguous decimal comma: 3,5 and 12,3456, not 1,234."""
    return with_point(text) is not None and THOUSANDS.fullmatch(text) is None


def comma_error(text):
    """Return the error text for an unread number with commas.

    Examples: 3,5; 1,234,567; 1,234 is ambiguous. None for other words.
    """
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
    """Replace decimal commas in a table (bytes) by points; return (text, changed).

    sep: the field separator, ' ' for any blanks. Numbers have decimal commas if each number with a comma has one, no
    other number has a point, and at least one does not look like thousands (1,234). If commas separate fields, such
    numbers are quoted. `with_comma` reverses one number.
    """
    if b"," not in raw or (sep == "," and b'"' not in raw):
        return raw, False
    commas = fields_of(COMMA, sep)
    if not any(is_decimal_comma(match[2].decode()) for match in commas.finditer(raw)):
        return raw, False
    if b"." in raw and fields_of(POINT, sep).search(raw):
        return raw, False
    return commas.sub(lambda match: match[1] + match[2].replace(b",", b"."), raw), True


def fields_of(form, sep):
    """Return the pattern of fields that are numbers of a form.

    Its groups: the text before the number, and the number.
    """
    marks, pad = (" \t", "") if sep == " " else (re.escape(sep), "[ \t]*+")
    pad = " *+" if sep == "\t" else pad
    quote = f'{pad}"{pad}' if sep == "," and form == COMMA else f'{pad}"?{pad}'
    return re.compile(rf"((?:\A|[{marks}\r\n]){quote})({form})(?={quote}(?:[{marks}\r\n]|\Z))".encode())


def with_comma(text):
    """Return a number with a decimal comma; other words unchanged."""
    return text.replace(".", ",") if "." in text and is_number(text, finite=False) else text


def is_integer(word):
    """Return True for a 64-bit integer spelled as Python prints it.

    Its id may be stored as an integer.
    """
    digits = word.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 19):
        return False
    return str(int(word)) == word and -(2**63) <= int(word) < 2**63


def as_ids(words, what="the ids"):
    """Return ids (n,) of words: int64 if all are such integers, else text.

    what: their name in text_array's DataError.
    """
    return np.array(words, dtype=np.int64) if all(map(is_integer, words)) else text_array(words, what)


def text_array(words, what):
    """Return words as an array (n,) of fixed-width str.

    Raises DataError if the longest word makes the array exceed WIDEST bytes, or if a word ends in a zero byte, which
    numpy would drop.
    """
    longest = max(words, key=len, default="")
    check_width(len(words), len(longest), f"{what}: {quote(longest)}")
    ended = next((word for word in words if word.endswith("\0")), None)
    if ended is not None:
        raise DataError(f"{what}: {quote(ended)} ends in a byte of 0, which no text holds. Take it away.")
    return np.array(words, dtype=str)


def check_width(count, letters, what):
    """Raise DataError if `count` words of `letters` letters exceed WIDEST bytes."""
    usual, size = 256, 4 * count * letters  # letters that are always accepted; bytes
    if letters > usual and size > WIDEST:
        raise DataError(
            f"{what} has {letters:,} letters, and {count:,} texts of that width take {size / 2**30:,.1f} GiB. Shorten "
            "it, or leave the line out."
        )


def decode(raw):
    """Decode bytes as UTF-8, else Windows-1252, else Latin-1.

    Different bytes give different text.
    """
    for encoding in ("utf-8", "cp1252"):  # five bytes have no letter in the latter
        with contextlib.suppress(UnicodeDecodeError):
            return raw.decode(encoding)
    return raw.decode("latin-1")


def quote(word):
    """Return a word or line in quotes, shortened for messages."""
    return repr(word[:SHOWN])


def first_repeated(words):
    """Return the first word that occurs a second time, or None."""
    seen = set()
    return next((word for word in words if word in seen or seen.add(word)), None)


def refuse_repeated(words, what):
    """Raise DataError for the first repeated word; what: its name."""
    if (twice := first_repeated(words)) is not None:
        raise DataError(f"{what} {quote(twice)} twice; each label is of one vertex.")


# Spreadsheets write lines such as ,, or ;; at the end of a text.


@functools.cache
def _blank_pattern(sep):
    """Return the pattern (bytes) of a line of empty fields.

    sep: the field separator, ' ' for any blanks.
    """
    if sep == " ":
        return re.compile(rb'(?:[ \t]|(?<![^ \t\n])""(?![^ \t\r\n]))*+[\r\n]*')
    blanks = "[" + " \t".replace(sep, "") + "]*+"
    field = rf'{blanks}(?:""{blanks})?+'
    return re.compile(rf"{field}(?:{re.escape(sep)}{field})*+[\r\n]*".encode())


def content_end(raw, sep):
    """Return the offset in bytes behind the last line with content."""
    pattern, end = _blank_pattern(sep), len(raw)
    while end:
        start = raw.rfind(b"\n", 0, end - 1) + 1
        if not pattern.fullmatch(raw, start, end):
            break
        end = start
    return end


def cut_blank_end(raw, sep, name):
    """Return a text (bytes) without blank lines at its end.

    Their number is noted. sep: the field separator, ' ' for any blanks; name: the file's name.
    """
    end = content_end(raw, sep)
    note_blank(name, raw[end:])
    return raw[:end]


def strip_blank_end(blocks, sep, name):
    """Yield blocks of whole lines (uint8) without blank lines at the end.

    Arguments as in cut_blank_end.
    """
    rest = np.empty(0, np.uint8)
    for block in blocks:
        end = _block_end(block, sep)
        if not end:
            rest = np.concatenate((rest, block))
            continue
        whole, end = (np.concatenate((rest, block)), len(rest) + end) if len(rest) else (block, end)
        rest = whole[end:].copy()
        yield whole[:end]
    note_blank(name, rest.tobytes())


def note_blank(name, raw):
    """Report the number of blank lines (bytes) left out, an unended one included."""
    count = raw.count(b"\n") + (not raw.endswith(b"\n") and bool(raw))
    if count:
        lines = "1 empty line" if count == 1 else f"{count:,} empty lines"
        notes.add(name, f"{lines} at the end of the file left out", empty_lines=count)


def _block_end(block, sep):
    """Return `content_end` of a block; its last bytes are searched first."""
    tail = block[-(1 << 12) :].tobytes()
    end = content_end(tail, sep)
    return len(block) - len(tail) + end if end else content_end(block.tobytes(), sep)
