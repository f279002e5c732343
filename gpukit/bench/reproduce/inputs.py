"""Ratings of the reproduced tables and figures, and columns of the printed tables."""

import time

from gpukit.bench.ratings import MOVIELENS, generate_split, split_movielens

PAPER_DATA = {"netflix": "Netflix", "ml-10m": "MovieLens 10M", "yahoo": "Yahoo! Music"}  # columns of the tables


def read_inputs(conditions, shapes=("ml-10m",), more=("netflix", "yahoo")):
    """Yield (train, test, name, 'real' or 'generated') of MovieLens 1M and of the usual or named shapes."""
    if conditions.data is not None and not conditions.shapes:
        yield *split_movielens(conditions.data), MOVIELENS, "real"
    for _, name, (train, test) in conditions.generate(generate_split, shapes, more):
        yield train, test, name, "generated"


def printed_column(shape):
    """Return (index, name) of a shape's column in the printed tables; MovieLens 10M's for other shapes."""
    key = shape.split()[0] if shape.split()[0] in PAPER_DATA else "ml-10m"
    return list(PAPER_DATA).index(key), PAPER_DATA[key]


def curve_text(times, errors, before):
    """Return an error curve as text 'second RMSE; ...', with the seconds before the training added to each."""
    return "; ".join(f"{before + second:.3f} s {error:.4f}" for second, error in zip(times, errors, strict=True))


def time_call(function):
    """Return (function(), its seconds)."""
    start = time.perf_counter()
    return function(), time.perf_counter() - start
