"""Ratings: triples (user, item, rating) from files, matrices and frames to arrays, and the maps back to ids.

    read_ratings(path)     as_ratings(matrix or DataFrame)     synth_ratings("netflix", 0.01)     each -> Ratings

| file                   | what it does                                                                |
|------------------------|-----------------------------------------------------------------------------|
| table.py, check.py     | `Ratings` (triples, id maps; split, csr, csc, take, scale); is it sound?    |
| convert.py             | `as_ratings`: matrices, frames, arrays                                      |
| read.py                | `read_ratings`, `read_pairs`: the way from a path to Ratings                |
| formats.py, headers.py | which format a file is, told from its first bytes; which column is what     |
| text.py -> gather.py   | a block to arrays; errors with their line; ids to codes, on all cores       |
| repeats.py             | ids to rows by hashing; repeated pairs                                      |
| clicks.py              | who chose what, with no word of how good it is                              |
| pairs.py               | pairs with their ratings apart (X and y), pairs to predict                  |
| copies.py, parquet.py  | .gkr, .npz, .parquet and .csv copies                                        |
| titles.py              | titles of items                                                             |
| generated/             | generated ratings of the papers' shapes; what is planted in them            |
| handed.py              | a table that one rank of a parallel.Team has read, handed to all others     |
| orders/                | the same ratings by item and by user, on a device                           |

Reading is exact: ratings equal float32(float(text)), ids are kept as written, threads do not change the result.
Text ids are told apart by a 64-bit hash (for a million ids, a chance of 3e-8 that two of them fall together).
"""

import importlib

_HOMES = {
    "Ratings": "table",
    "as_ratings": "convert",
    "read_ratings": "read",
    "read_pairs": "read",
    "write_ratings": "copies",
    "read_titles": "titles",
    "synth_ratings": "generated.synth",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__():
    return __all__
