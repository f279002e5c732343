"""Tables of values, read, imputed, written and read again; observed text is unchanged."""

import csv
import io
import tempfile
from pathlib import Path

import numpy as np

from fuzz.judges import completed as judges
from fuzz.kinds import graphs
from fuzz.mutate import parquet
from fuzz.mutate.text import TEXT
from fuzz.registry import Kind, Sample

DAYS = [f"2014-01-01 {hour:02}:00:00" for hour in range(14)]


def table(sep=",", head=(), side=(), turned=False):
    """Return text of values in common layouts, with row and column labels."""
    values = graphs.tensor(14)
    empty = "nan" if sep == " " else ""
    rows = [[empty if np.isnan(x) else f"{x:.3f}" for x in row] for row in (values.T if turned else values)]
    if side:
        rows = [[label, *row] for label, row in zip(side, rows)]
    text = io.StringIO()
    csv.writer(text, delimiter=sep, lineterminator="\n").writerows([list(head), *rows] if head else rows)
    return text.getvalue().encode()


def text_samples():
    """Tables in every layout with a list of edges; the tables are mutated."""
    words, edges = [f"s{k}" for k in range(graphs.N)], graphs.edge_lines(name="s{}")
    named = [
        table(head=["time", *words], side=DAYS, turned=True),
        table("\t", ["", *DAYS], words),
        table(";", words, turned=True),
        table(" ", side=words),
        table(";", ["time", *words], DAYS, True).replace(b".", b","),
    ]
    made = [(edges, values) for values in named] + [(graphs.edge_lines(), graphs.value_lines())]
    return [Sample({"e.txt": e, "v.csv": v}, "v.csv", ("v.csv",)) for e, v in made]


def parquet_samples():
    """The same as Parquet."""
    import pyarrow

    columns = {f"s{k}": graphs.tensor(14)[k] for k in range(graphs.N)}
    files = {"e.txt": graphs.edge_lines(name="s{}")}
    tables = pyarrow.table(columns), pyarrow.table({"time": DAYS, **columns})
    return [Sample({**files, "v.parquet": parquet.written(one)}, "v.parquet", ("v.parquet",)) for one in tables]


def answer(path, use):
    """Return the data of a table and of its imputed table.

    The bytes of the latter are included.
    """
    from gpukit.graphs.completed import write_completed
    from gpukit.graphs.read import read_graph

    edges, layout = path.parent / "e.txt", use["layout"]
    data = read_graph(edges=edges, tensor=path, layout=layout)
    before, seen = flat(data)
    guess = (np.arange(before.size).reshape(before.shape) / 8 + 0.1).astype(np.float32)
    filled = np.where(seen, before.astype(np.float32), guess)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / f"v{use['suffix']}"
        write_completed(out, path, filled, seen, data.vertices, layout)
        again = read_graph(edges=edges, tensor=out, layout=layout)
        text = out.read_bytes() if use["suffix"] == ".csv" else b""
    after, whole = flat(again)
    ids = [None if one.vertices is None else one.vertices.tolist() for one in (data, again)]
    times = [None if one.times is None else one.times.tolist() for one in (data, again)]
    return {"before": before, "seen": seen, "filled": filled, "after": after, "whole": whole, "text": text,
            "ids": ids[0], "ids_again": ids[1], "times": times[0], "times_again": times[1]}  # fmt: skip


def flat(data):
    """Return (values (N, T), mask of observed ones) of a GraphTensor."""
    N = len(data.tensor)
    mask = data.mask if data.mask.ndim == 3 else np.broadcast_to(data.mask[:, None, None], data.tensor.shape)
    return data.tensor.reshape(N, -1), mask.reshape(N, -1)


def uses(rng):
    """Return a form, and sometimes a layout."""
    suffix = (".csv", ".csv", ".parquet")[rng.integers(3)]
    return {"suffix": suffix, "layout": (None, None, None, "rows", "columns")[rng.integers(5)]}


KINDS = [
    Kind("completed-text", text_samples, TEXT, answer, judges.completed, uses),
    Kind("completed-parquet", parquet_samples, parquet.PARQUET, answer, judges.completed, uses, share=0.5),
]
