"""Benchmark of reading ratings from csv files."""

import importlib.util
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from gpukit.bench.process import read_in_processes
from gpukit.bench.record import Row
from gpukit.errors import DataError

READERS = {
    "gpukit": "from gpukit import read_ratings as read",
    "pyarrow": """
import pyarrow
from pyarrow import csv
words = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
types = {"user": words, "item": words, "rating": pyarrow.float32()}
def read(path):
    return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=types)).unify_dictionaries()
""",
    "pandas": """
import pandas
def read(path):
    frame = pandas.read_csv(path, dtype={"rating": "float32"})
    return frame.assign(**{name: pandas.factorize(frame[name], sort=True)[0] for name in ("user", "item")})
""",
    "polars": """
import polars
def read(path):
    rows = [polars.col(name).rank("dense") for name in ("user", "item")]
    return polars.read_csv(path, schema_overrides={"rating": polars.Float32}).with_columns(*rows)
""",
}  # each converts users and items to row numbers, pyarrow in order of appearance


def reading(conditions):
    """Read 99 million ratings from csv files with numeric ids and with text ids, by gpukit and other packages."""
    from gpukit.ratings import synth_ratings, write_ratings

    ratings = synth_ratings("netflix", conditions.scale, 0)
    shape = f"{len(ratings) / 1e6:.1f} million rows"
    with tempfile.TemporaryDirectory() as folder:
        big, small = Path(folder) / "big.csv", Path(folder) / "small.csv"
        for kind, prefix in (("", ""), (", ids as text", "u")):
            if prefix:
                ids = [np.char.add(prefix, ids.astype(str)) for ids in (ratings.user_ids, ratings.item_ids)]
                ratings = replace(ratings, user_ids=ids[0], item_ids=ids[1])
            write_ratings(ratings, big)
            write_ratings(ratings.take(slice(100)), small)
            for name in filter(importlib.util.find_spec, READERS):
                yield from reading_rows(name, kind, shape, ratings, big, small)


def reading_rows(name, kind, shape, ratings, big, small):
    """Yield the rows of the time and the memory of one of READERS."""
    result = read_in_processes(READERS[name], "len(table)", big, small)
    if result.figures != [len(ratings)]:
        raise DataError(f"{name} read {result.figures[0]:.0f} of the csv file's {len(ratings)} ratings.")
    what = f"reading a csv file{kind}{'' if name == 'gpukit' else ' by ' + name}"
    yield Row(what, shape, "generated", result.seconds, "s")
    times = [peak / ratings.nbytes for peak in result.peaks]
    yield Row(f"memory of {what}", shape, "generated", times, "times the arrays", "peak above the start")
