"""Ratings: (user, item, rating) triples from files, matrices and data frames, with their ids.

    read_ratings(path)     as_ratings(matrix or DataFrame)     synth_ratings("netflix", 0.01)     each -> Ratings

| file                   | contents                                                                    |
|------------------------|-----------------------------------------------------------------------------|
| table.py, check.py     | `Ratings` (triples, id maps; split, csr, csc, take, scale), its checks; clicks |
| adopt.py               | `as_ratings`: matrices, data frames, arrays; pairs with ratings and weights |
| read.py                | `read_ratings`, `read_pairs`, `read_titles`: files, on one rank or on all   |
| parts.py, read_parts.py| `RatingsPart`: each rank has the ratings of some users, and reads a share   |
| formats.py             | detect a file's format by its first bytes, and the roles of its columns     |
| chunk_reader.py        | blocks of text read on threads, errors with their line; batches of Parquet  |
| repeats.py             | find and merge repeated (user, item) pairs                                  |
| copies.py              | .gkr, .npz, .parquet and .csv copies                                        |
| synth.py               | synthetic ratings with the shapes of published data sets                    |
| orders/                | the ratings sorted by item and by user, on a device                         |

Reading is exact: ratings equal float32(float(text)), ids keep their spelling, threads do not change the result.
"""

from gpukit._lazy import on_demand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpukit.ratings.adopt import as_ratings as as_ratings
    from gpukit.ratings.copies import write_ratings as write_ratings
    from gpukit.ratings.read import read_pairs as read_pairs
    from gpukit.ratings.read import read_ratings as read_ratings
    from gpukit.ratings.read import read_titles as read_titles
    from gpukit.ratings.synth import synth_ratings as synth_ratings
    from gpukit.ratings.table import Ratings as Ratings

_HOMES = {
    "Ratings": "table",
    "as_ratings": "adopt",
    "read_ratings": "read",
    "read_pairs": "read",
    "write_ratings": "copies",
    "read_titles": "read",
    "synth_ratings": "synth",
}
__all__ = sorted(_HOMES)
if not TYPE_CHECKING:
    __getattr__, __dir__ = on_demand(__name__, _HOMES)
