"""Tables of sensors without a graph; coordinates and distances."""

import io

import numpy as np

from fuzz.judges import tables
from fuzz.mutate import parquet
from fuzz.mutate.text import TEXT
from fuzz.registry import Kind, Sample, single

TIMES = [f"2020-03-{day:02d} {hour:02d}:00" for day in (1, 2) for hour in range(0, 24, 6)]
NAMES = ["north", "7", "s,ü", "00"]


def readings(header, sep=",", names=NAMES, extra=()):
    """Text of one reading per line, with a few missing ones."""
    rng = np.random.default_rng(2)
    lines = [[t, f'"{s}"', f"{rng.normal():.3f}", *extra] for t in TIMES for s in names if rng.random() < 0.9]
    lines[3][2] = ""
    return ("\n".join([*([header.replace(",", sep)] if header else []), *map(sep.join, lines)]) + "\n").encode()


def wide(turned=False):
    """Text of times by sensors."""
    values = np.random.default_rng(3).normal(size=(len(TIMES), 3)).round(3).astype(str)
    values[2, 1] = ""
    rows = [["time", "a", "b", "c"], *([t, *row] for t, row in zip(TIMES, values.tolist()))]
    return ("\n".join(map(",".join, zip(*rows) if turned else rows)) + "\n").encode()


def apart():
    """Return text with unusual columns.

    Times in several columns, columns that are not sensors, and years after the subject of a line.
    """
    rows = [line.split(",") for line in wide().decode().splitlines()[1:]]
    clocks = [f"{t[8:10]}.{t[5:7]}.{t[:4]};{t[11:13]}.00.00;{';'.join(row)};NW;" for t, *row in rows]
    calendar = [f"{at},2020,{int(t[5:7])},{t[8:10]},{t[11:13]},{','.join(row)},x" for at, (t, *row) in enumerate(rows)]
    years = [f"{name},{name * 3},{','.join(part)}" for name, part in zip("abc", zip(*(row for _, *row in rows)))]
    made = [
        ["Date;Time;a;b;c;wind;", *clocks],
        ["No,year,month,day,hour,a,b,c,station", *calendar],
        [f"Country,Code,{','.join(map(str, range(1990, 1990 + len(rows))))}", *years],
    ]
    return ["\n".join(some).encode() + b"\n" for some in made]


def table_samples():
    """Texts of all kinds, and Parquet."""
    import pandas

    texts = [
        readings("time,sensor,value"),
        readings("Timestamp,station_id,temp,note", ";", extra=("x",)),
        wide(),
        wide(True),
        wide().replace(b",", b";").replace(b".", b","),
        *apart(),
    ]
    frame = pandas.read_csv(io.BytesIO(texts[0]), parse_dates=["time"])
    packed = io.BytesIO()
    frame.to_parquet(packed)
    return [*(single("t.csv", one) for one in texts), single("t.parquet", packed.getvalue())]


def place_samples(*texts):
    """Files of coordinates or distances with a table."""
    return [Sample({"p.csv": one.encode(), "t.csv": wide()}, "t.csv", ("p.csv", "p.csv", "t.csv")) for one in texts]


def coordinate_samples():
    """Degrees, positions, positions without labels."""
    return place_samples(
        "id,lat,lon\na,10,20\nb,11,21\nc,10.5,19\nd,0,0\n",
        "label,x,y\na,1,2\nb,3,4\nc,5,6\n",
        "x,y\n1,2\n2000,3\n4,5\n",
    )


def distance_samples():
    """Pairs, and a square matrix."""
    return place_samples("from,to,cost\na,b,3\nb,a,2\nb,c,9\nx,a,1\n", ",a,b,c\na,0,1,2\nb,1,0,4\nc,2,5,0\n")


def describe(data):
    """Return {name: array} of a GraphTensor."""
    A = data.adjacency
    wrong = tables.csr("adjacency", A.data, A.indices, A.indptr, A.shape)
    names = ("tensor", "mask", "vertices", "truth", "times")
    dense = np.zeros((1, 1)) if wrong or max(A.shape) > 5000 else A.toarray()
    return {"wrong": wrong, "adjacency": dense, **{name: getattr(data, name) for name in names}}


def table(path, use):
    """read_graph of a table, and of the completed table that is written."""
    from gpukit.graphs.completed import write_completed
    from gpukit.graphs.read import read_graph

    data = read_graph(path, layout=use.get("layout"), columns=use.get("columns"), neighbors=use.get("neighbors"))
    N, T = len(data.tensor), data.tensor.shape[2]
    if N * T > 100_000:
        return describe(data)
    seen = np.broadcast_to(data.mask if data.mask.ndim == 3 else data.mask[:, None, None], (N, 1, T)).reshape(N, T)
    full, out = np.where(seen, data.tensor.reshape(N, T), 0.5), path.parent / "filled.csv"
    how = {"layout": use.get("layout"), "columns": use.get("columns"), "alone": True}
    write_completed(out, path, full, seen, data.vertices, **how)
    again = read_graph(out, layout=use.get("layout"), columns=use.get("columns"))
    return describe(data) | {
        "full": full,
        "again": again.tensor,
        "whole": bool(again.mask.all()),
        "ids": again.vertices,
    }


def with_places(name):
    """read_graph of a table with coordinates or distances."""

    def answer(path, use):
        from gpukit.graphs.read import read_graph

        return describe(read_graph(path, **{name: path.parent / "p.csv"}, neighbors=use.get("neighbors")))

    return answer


def judge(found, files):
    """Valid; the written table has no missing values and all the values."""
    if found["wrong"] or len(found["tensor"]) > 5000:
        return found["wrong"]
    A = found["adjacency"]
    if not (np.array_equal(A, A.T) and np.isfinite(A).all() and (A >= 0).all() and not A.diagonal().any()):
        return "the adjacency is no symmetric one of weights"
    if found["vertices"] is not None and len(set(found["vertices"].tolist())) < len(found["vertices"]):
        return "an id comes twice"
    if "again" not in found:
        return None
    if not found["whole"]:
        return "something is missing of the table that was written"
    return None if same(found) else "the table that was written has other values"


def same(found):
    """Return True if the written values are read again.

    The order of the sensors may differ.
    """
    full, again = np.sort(found["full"].ravel()), np.sort(found["again"].ravel())
    return full.shape == again.shape and np.allclose(full, again, rtol=1e-12, atol=0)


def uses(rng):
    """Return a layout, and sometimes roles and neighbours."""
    draw, use = rng.random(), {}
    if draw < 0.1:
        use = {"layout": ("rows", "columns", "long")[rng.integers(3)]}
    elif draw < 0.15:
        use = {"columns": "time,sensor,value"}
    return use | ({"neighbors": int(rng.integers(1, 5))} if rng.random() < 0.3 else {})


def neighbors(rng):
    """Return the number of neighbours, sometimes."""
    return {"neighbors": int(rng.integers(1, 5))} if rng.random() < 0.3 else {}


def edit(data, rng):
    """Mutate Parquet or text."""
    some = parquet.PARQUET if data.startswith(b"PAR1") else TEXT
    return some[rng.integers(len(some))](data, rng)


KINDS = [
    Kind("sensor-table", table_samples, (edit,), table, judge, uses),
    Kind("coordinates", coordinate_samples, TEXT, with_places("coordinates"), judge, neighbors),
    Kind("distances", distance_samples, TEXT, with_places("distances"), judge, neighbors),
]
