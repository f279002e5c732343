"""Read files of negatives in the format of NCF's authors.

There is a line `(user,item)<tab>item<tab>item ...` for each test click.
"""

from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.io import sources
from gpukit.io.words import decode, quote

LONGEST = 200  # letters of an id; the longest determines the memory
FORM = "a line (user,item)<tab>item<tab>item ... for each test click, tabs between"


class Negatives(NamedTuple):
    """Sampled negatives: users (T,), clicks (T,), items (T, C), there (T, C) bool.

    Ids are text if they were read from a file. there: mask of valid items.
    """

    users: np.ndarray
    clicks: np.ndarray
    items: np.ndarray
    there: np.ndarray


def read_negatives(path):
    """Return the Negatives of a file, which may be compressed.

    Raises DataError with the line for another format or another number of negatives.
    """
    with sources.open_source(path, f"a file of negatives, {FORM}") as source:
        source.refuse_empty(f"a file of negatives, {FORM}")
        stream = source.stream()
        stream.text_head()
        lines = decode(stream.whole()).split("\n")
    numbers = [number for number, line in enumerate(lines, start=1) if line.strip()]
    rows = [_parse_line(lines[number - 1], number, path) for number in numbers]
    if not rows:
        raise DataError(f"{path} holds no negatives. Give {FORM}.")
    for number, row in zip(numbers, rows):
        if len(row) != len(rows[0]):
            raise DataError(
                f"{path}, line {number}: there are {len(row) - 2:,} negatives, and {len(rows[0]) - 2:,} in the first "
                "line: each needs as many."
            )
    table = np.array(rows)
    return Negatives(table[:, 0], table[:, 1], table[:, 2:], np.ones((len(rows), len(rows[0]) - 2), np.bool_))


def _parse_line(line, number, path):
    """Return [user, item, negatives ...] of a line."""
    head, *items = (field.strip() for field in line.rstrip("\r\t").split("\t"))
    user, comma, item = head[1:-1].partition(",")
    if not (head.startswith("(") and head.endswith(")") and comma and user.strip() and item.strip()):
        raise DataError(f"{path}, line {number}: {quote(head)} is no (user,item). The file needs {FORM}.")
    if not items or not all(items):
        lacking = "has no negatives" if not items else "has an empty one among its negatives"
        raise DataError(f"{path}, line {number}: the test click {quote(head)} {lacking}. The file needs {FORM}.")
    fields = [user.strip(), item.strip(), *items]
    if max(map(len, fields)) > LONGEST:
        raise DataError(
            f"{path}, line {number}: {quote(max(fields, key=len))} is longer than {LONGEST} letters: no id."
        )
    return fields
