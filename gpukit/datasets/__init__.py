"""Ratings in: from any file that data sets come in to rows, values and the maps back to the user's ids.

    read_ratings(path)     as_ratings(matrix or DataFrame)     synth_ratings("netflix", 0.01)     each -> Ratings

| file                                  | what it does                                                                |
|---------------------------------------|-----------------------------------------------------------------------------|
| ratings.py                            | `Ratings` (triples, id maps; split, csr, csc, take, scale), `as_ratings`    |
| readers.py                            | `read_ratings`, `read_pairs`: the way from a path to Ratings                |
| sources.py -> formats.py              | paths, folders, archives to blocks of lines; which format it is (`columns`) |
| text.py, fields.py -> sheet.py        | a block to arrays, on all cores; errors with their line; ids to codes       |
| ids.py, order.py                      | ids to rows by hashing; grouping by row, repeated pairs                     |
| binary.py, titles.py                  | .gkr, .npz and .csv copies; titles of items                                 |
| synth.py, planted.py                  | generated ratings of the papers' shapes; what is planted in them            |

Reading is exact: ratings equal float32(float(text)), ids are kept as written, threads do not change the result.
Text ids are told apart by a 64-bit hash (for a million ids, a chance of 3e-8 that two of them fall together).
"""

import importlib

_HOMES = {
    "Ratings": "ratings", "as_ratings": "ratings", "read_ratings": "readers", "read_pairs": "readers",
    "write_ratings": "binary", "read_titles": "titles", "synth_ratings": "synth",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__():
    return __all__
