"""Find and remove blank lines at the end of a text.

Spreadsheets write such lines as ,, or ;;.
"""

import functools
import re

import numpy as np

from gpukit.io import notes


@functools.cache
def _pattern(sep):
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
    pattern, end = _pattern(sep), len(raw)
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
    note_blank(name, count_lines(raw[end:]))
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
    note_blank(name, count_lines(rest.tobytes()))


def count_lines(raw):
    """Return the number of lines of a text (bytes), unended ones included."""
    return raw.count(b"\n") + (not raw.endswith(b"\n") and bool(raw))


def note_blank(name, count):
    """Report the number of blank lines left out."""
    if count:
        lines = "1 empty line" if count == 1 else f"{count:,} empty lines"
        notes.add(name, f"{lines} at the end of the file left out", empty_lines=count)


def _block_end(block, sep):
    """Return `content_end` of a block; its last bytes are searched first."""
    tail = block[-(1 << 12) :].tobytes()
    end = content_end(tail, sep)
    return len(block) - len(tail) + end if end else content_end(block.tobytes(), sep)
