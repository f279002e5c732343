"""Empty lines at the end of a text: their definition, and independence of blocks."""

import numpy as np
import pytest

from gpukit.io import words

SEPARATORS = [",", ";", "\t", "|", "::", " ", "/"]


def lines_without_content(sep):
    """Lines of empty fields between a separator."""
    return ["", "   ", sep, sep * 2, f'""{sep}""', f' {sep} ""{sep} ', '""', sep * 7]


def lines_with_content(sep):
    """Lines with a nonempty field, such as a quote, a quoted blank or a quoted separator."""
    return ["a", f"{sep}a{sep}", f'""""{sep}', f'" "{sep}', f'"{sep}"{sep}""', f'"{sep}', f'{sep}"" x', "0"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("sep", SEPARATORS)
def test_which_lines_have_content(sep, end):
    for blank in lines_without_content(sep):
        for full in lines_with_content(sep):
            text = f"1{sep}2{end}{blank}{end}{full}{end}".encode()
            assert words.content_end(text + f"{blank}{end}".encode() * 2, sep) == len(text), (blank, full)
            assert words.content_end(text + blank.encode(), sep) == len(text), (blank, full)
    assert words.content_end(f"{blank}{end}".encode(), sep) == 0


@pytest.mark.parametrize("count", [0, 1, 3, 5000])
def test_blocks_of_any_size(count):
    """Blank lines in the middle are kept; those at the end are removed, in any number of blocks."""
    text = b"a,b\n,,\n\nc,d\n"
    raw, random = text + b',"",\n' * count, np.random.default_rng(0)
    ends = [at + 1 for at in range(len(raw)) if raw[at] == 10]
    for size in (1, 2, 3, len(ends)):
        chosen = [0, *sorted(random.choice(ends[:-1], min(size, len(ends)) - 1, replace=False)), len(raw)]
        blocks = [np.frombuffer(raw[one:two], np.uint8).copy() for one, two in zip(chosen, chosen[1:])]
        found = b"".join(block.tobytes() for block in words.strip_blank_end(blocks, ",", "x"))
        assert found == text


def test_a_last_line_that_is_wider_than_the_window():
    wide = b"," * (3 << 12)
    for first in (b"", b"x"):
        raw = b"a,b\n" + first + wide + b"\n"
        blocks = [np.frombuffer(raw, np.uint8)]
        found = b"".join(block.tobytes() for block in words.strip_blank_end(blocks, ",", "x"))
        assert found == (raw if first else b"a,b\n")
