"""Ids typed on the command line, matched to integer or text ids."""

import numpy as np

from gpukit.errors import DataError
from gpukit.io.ids import rows_of


def check_known(typed, known, what):
    """Return the ids of `known` that the typed texts denote.

    typed: texts; known: (n,) ids of the model, int64 or str; what: "user" or "item", for the message. Raises DataError
    with the first unknown id and the nearest known id.
    """
    rows = rows_of(np.array(typed, dtype=str), known)
    for text, row in zip(typed, rows):
        if row < 0:
            raise DataError(
                f"{what} {text} is not in the model, which knows {len(known):,} {what}s; "
                f"the nearest id is {_nearest(text, np.sort(known))}."
            )
    return np.asarray(known)[rows]


def _nearest(text, known):
    """Return the nearest id: by value for integers, else the next in sorted order."""
    if known.dtype.kind not in "iu":
        return known[min(np.searchsorted(known, text), len(known) - 1)]
    try:
        wanted = int(text)
    except ValueError:
        return f"{known[0]} (ids are integers here)"
    return min((int(known[0]), int(known[-1]), *_around(wanted, known)), key=lambda value: abs(value - wanted))


def _around(wanted, known):
    if not int(known[0]) <= wanted <= int(known[-1]):
        return ()
    place = int(np.searchsorted(known, wanted))
    return int(known[max(place - 1, 0)]), int(known[place])
