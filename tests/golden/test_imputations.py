"""Tables of sensors and tensors on graphs: what `impute` fills in, or the line with which it refuses."""

import io

import numpy as np
import pytest

from golden.command import Case


def sensors(rows=48, columns=6, gaps=7):
    """Times by sensors with a daily wave, as csv without each seventh value."""
    header = "time," + ",".join(f"s{c}" for c in range(columns)) + "\n"
    lines = []
    for t in range(rows):
        wave = [10 + c + 3 * np.sin(2 * np.pi * (t + c) / 24) for c in range(columns)]
        cells = ["" if (t * columns + c) % gaps == 3 else f"{value:.3f}" for c, value in enumerate(wave)]
        lines.append(f"2024-01-{1 + t // 24:02d} {t % 24:02d}:00," + ",".join(cells) + "\n")
    return header + "".join(lines)


def tensor(**changed):
    """The bytes of an .npz: a ring of 12 vertices with matrices of 3 x 4."""
    vertex, row, column = np.ogrid[:12, :3, :4]
    values = np.cos(2 * np.pi * vertex / 12) * (1 + row) + column
    values[(vertex + row + column) % 5 == 0] = np.nan
    adjacency = np.roll(np.eye(12), 1, 0) + np.roll(np.eye(12), -1, 0)
    np.savez(made := io.BytesIO(), **{"tensor": values, "adjacency": adjacency, **changed})
    return made.getvalue()


def weeks(rows=140):
    """Two sensors read six times a day, whose days differ by the day of the week; two days are missing."""
    random = np.random.default_rng(0)
    week = random.normal(size=(42, 2)) + 4 * np.sin(np.arange(42) * 2 * np.pi / 6)[:, None]
    waves, lines = np.resize(week, (rows, 2)) + 0.2 * random.normal(size=(rows, 2)), []
    for t in range(rows):
        cells = ["" if 100 <= t < 112 and c == 0 else f"{waves[t, c]:.1f}" for c in range(2)]
        lines.append(f"2024-01-{1 + t // 6:02d} {4 * (t % 6):02d}:00," + ",".join(cells) + "\n")
    return "time,a,b\n" + "".join(lines)


TABLE = sensors()
EDGES = "s0,s1\ns1,s2\ns2,s3\ns3,s4\ns4,s5\n"
PLACES = "sensor,latitude,longitude\n" + "".join(f"s{c},48.{c},2.{c}\n" for c in range(6))


def fill(name, table=TABLE, options="", file="table.csv", **files):
    """A case: the table is filled in by one method, so that no choice has to be made."""
    options = options if "--method" in options else f"--method interpolation {options}"
    command = f"impute {file} --output out.csv {options}".strip()
    return Case(name, command, {file: table, **files}, outputs=("out.csv",))


CASES = (
    fill("a table"),
    fill("a table with edges", options="--edges edges.csv --method smoothness", **{"edges.csv": EDGES}),
    fill("a table with places", options="--coordinates places.csv --method smoothness", **{"places.csv": PLACES}),
    fill("the mean", options="--method two-way-mean"),
    fill("a method misspelled", options="--method interpolate"),
    fill("nothing is missing", TABLE.replace(",,", ",1,").replace(",\n", ",1\n")),
    fill("integers stay integers", "time,a,b\n2024-01-01,1,5\n2024-01-02,,6\n2024-01-03,3,\n2024-01-04,4,8\n"),
    fill("integers are rounded", "time,a,b\n2024-01-01,1,5\n2024-01-02,,6\n2024-01-03,,7\n2024-01-04,2,8\n"),
    fill("true and false", "time,a,b\n2024-01-01,True,5\n2024-01-02,,6\n2024-01-03,False,7\n2024-01-04,True,8\n"),
    fill("a byte order mark", "\ufeff" + TABLE),
    fill("Latin-1", TABLE.replace("s0", "caf\u00e9").encode("latin-1")),
    fill("UTF-16", TABLE.encode("utf-16")),
    fill(
        "rows of readings",
        "sensor,time,value\n"
        + "".join(
            f"{s},2024-01-{d:02d},{s == 'a' and d or 9 - d}\n" for s in "ab" for d in range(1, 9) if (s, d) != ("a", 4)
        ),
    ),
    fill("no times", "a,b\n1.5,5\n,6\n3,\n4,8\n"),
    fill("rows upside down", "time,a,b\n2024-01-03,1,5\n2024-01-02,,6\n2024-01-01,3,\n"),
    fill("a time twice", "time,a,b\n2024-01-01,1,5\n2024-01-01,,6\n2024-01-02,3,\n"),
    fill("a sensor without a reading", "time,a,b\n2024-01-01,,5\n2024-01-02,,6\n2024-01-03,,\n"),
    fill("a word among values", "time,a,b\n2024-01-01,1,x\n2024-01-02,2,6\n"),
    fill("words for nothing", "time,a,b\n2024-01-01,1,NA\n2024-01-02,nan,6\n2024-01-03,3,7\n"),
    fill("decimal commas", "time;a;b\n2024-01-01;1,5;5\n2024-01-02;;6\n2024-01-03;3;7\n"),
    fill("a time like no other", "time,a,b\n2024-01-01,1,5\n2024-01-02,,6\nnoon,3,7\n2024-01-04,4,8\n"),
    fill("a time like no other below a comment", "# made by hand\ntime,a\n\n2024-01-01,1\n2024-13-01,\n2024-01-03,3\n"),
    fill("a reading at no time", "sensor,time,value\na,2024-01-01,1\na,2024-01-02,2\na,later,3\nb,2024-01-01,4\n"),
    fill("weeks", weeks(), "--method seasonal"),
    fill("infinite", "time,a,b\n2024-01-01,inf,5\n2024-01-02,,6\n"),
    fill("a ragged row", "time,a,b\n2024-01-01,1\n2024-01-02,,6\n"),
    fill("names that are quoted", 'time,"a,b","c ""d"""\n2024-01-01,1,5\n2024-01-02,,6\n2024-01-03,3,7\n'),
    fill("a name twice", "time,a,a\n2024-01-01,1,5\n2024-01-02,,6\n"),
    fill("an edge to nobody", options="--edges edges.csv --method smoothness", **{"edges.csv": EDGES + "s5,s9\n"}),
    fill(
        "a place without a sensor",
        options="--coordinates places.csv --method smoothness",
        **{"places.csv": PLACES + "s9,48.9,2.9\n"},
    ),
    fill("an empty file", ""),
    fill("a header and nothing else", "time,a,b\n"),
    fill("gzip", file="table.csv.gz"),
    fill("carriage returns", TABLE.replace("\n", "\r\n")),
    Case("a tensor", "impute g.npz --output out.npz --method vertex-mean", {"g.npz": tensor()}, outputs=("out.npz",)),
    Case(
        "a tensor by its spectrum",
        "impute g.npz --output out.npz --method spectral --iterations 5",
        {"g.npz": tensor()},
    ),
    Case("a tensor without edges", "impute g.npz --output out.npz", {"g.npz": tensor(adjacency=np.zeros((12, 12)))}),
    Case("a graph of another size", "impute g.npz --output out.npz", {"g.npz": tensor(adjacency=np.eye(99))}),
    Case("weights below 0", "impute g.npz --output out.npz", {"g.npz": tensor(adjacency=-np.eye(12)[::-1])}),
    Case("a tensor of another size", "impute g.npz --output out.npz", {"g.npz": tensor(tensor=np.zeros((0, 3, 4)))}),
    Case("an archive of nothing", "impute g.npz --output out.npz", {"g.npz": b"PK"}),
    Case("a file that is not there", "impute nothing.csv"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_imputations(check, case):
    check(case)
