"""Files of negatives as NCF's authors publish them: a line `(user,item)<tab>item<tab>item ...` for each test click."""

from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.io import sources
from gpukit.io.words import decoded, shown

FORM = "a line (user,item)<tab>item<tab>item ... for each test click, tabs between"


class Negatives(NamedTuple):
    """Ids as text: users (T,), clicks (T,), items (T, C), empty text where there (T, C) bool says that none stands."""

    users: np.ndarray
    clicks: np.ndarray
    items: np.ndarray
    there: np.ndarray


def read_negatives(path):
    """The Negatives of a file, packed or not; DataError naming the line for what has another form."""
    with sources.opened(path, f"a file of negatives, {FORM}") as source:
        source.refuse_empty(f"a file of negatives, {FORM}")
        stream = source.stream()
        stream.text_head()
        lines = decoded(stream.whole().removeprefix(sources.BOM)).split("\n")
    rows = [_parsed(line, number, path) for number, line in enumerate(lines, start=1) if line.strip()]
    if not rows:
        raise DataError(f"{path} holds no negatives. Give {FORM}.")
    counts = np.array([len(row) - 2 for row in rows])
    there = np.arange(counts.max()) < counts[:, None]
    items = np.full(there.shape, "", f"U{max(len(one) for row in rows for one in row)}")
    items[there] = [one for row in rows for one in row[2:]]
    return Negatives(np.array([row[0] for row in rows]), np.array([row[1] for row in rows]), items, there)


def _parsed(line, number, path):
    """[user, item, negatives ...] of a line."""
    head, *items = (field.strip() for field in line.rstrip("\r\t").split("\t"))
    user, comma, item = head[1:-1].partition(",")
    if not (head.startswith("(") and head.endswith(")") and comma and user.strip() and item.strip()):
        raise DataError(f"{path}, line {number}: {shown(head)} is no (user,item). The file needs {FORM}.")
    if not items or not all(items):
        lacking = "has no negatives" if not items else "has an empty one among its negatives"
        raise DataError(f"{path}, line {number}: the test click {shown(head)} {lacking}. The file needs {FORM}.")
    return [user.strip(), item.strip(), *items]
