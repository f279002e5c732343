"""Every reader reads a pipe like a file: the same result or error, and no hang."""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import threading
import zipfile

import numpy as np
import pytest
import scipy.sparse
from support import thinned

from gpukit.documents import read_letor, synth_letor, write_letor
from gpukit.errors import DataError
from gpukit.graphs import read_graph, synth_graph, write_graph
from gpukit.graphs.read import read_edges
from gpukit.ratings import read_pairs, read_ratings, read_titles, synth_ratings, write_ratings

ROWS = 6000  # their text is several times the size of a pipe's buffer
EDGES = [(at, at + 1) for at in range(11)] + [(0, 11)]
GRID = np.random.default_rng(5).normal(size=(12, 4))


def lines(spell, count=ROWS):
    random = np.random.default_rng(3)
    rows = zip(random.integers(1, 400, count), random.integers(1, 300, count), random.integers(1, 6, count))
    return "".join(f"{spell(int(u), int(i), int(r))}\n" for u, i, r in rows).encode()


def zipped(raw, name="data.txt"):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(name, raw)
    return out.getvalue()


def saved(suffix, write, thing):
    """Return the bytes that a writer makes, as a function of a folder."""

    def bytes_in(folder):
        path = folder / f"made{suffix}"
        write(thing(), path)
        return path.read_bytes()

    return bytes_in


def arrays(save=np.savez, **named):
    out = io.BytesIO()
    save(out, **named)
    return out.getvalue()


def array(values):
    out = io.BytesIO()
    np.save(out, values)
    return out.getvalue()


def matrix(count=500):
    out = io.BytesIO()
    scipy.sparse.save_npz(
        out, scipy.sparse.random_array((90, 70), density=count / 6300, random_state=1, dtype=np.float32)
    )
    return out.getvalue()


def with_companion(**others):
    """Return a reader of a graph with values in one source and edges in a file, or the reverse."""

    def read(path, folder):
        for name, raw in others.items():
            (folder / name).write_bytes(raw)
        known = {name: folder / name for name in others}
        return read_graph(**{"edges": path, "tensor": path, **known})

    return read


def of_edges(path, folder):
    return read_edges(path)


def timed(path, folder):
    return read_ratings(path, times=True)


CSV = lines(lambda u, i, r: f"u{u},{i},{r}")
LETOR = "".join(f"{row % 3} qid:{row // 7} 1:{row / 7} 2:{row} 4:{row % 5} # {row}\n" for row in range(ROWS)).encode()
TITLES = "".join(f"{row},{1900 + row % 99},Title, the {row}\n" for row in range(ROWS)).encode()
LIST = "".join(f"v{a} v{b} 1.5\n" for a, b in EDGES).encode()
PAIRS = lines(lambda u, i, r: f"{u}\t{i}")
MATRIX = b"%%MatrixMarket matrix coordinate real general\n400 300 3\n1 1 2.5\n7 9 1\n400 300 4\n"
DATED = lines(lambda u, i, r: f"{u}::{i}::{r}::{978300760 + u}")
SAMPLE = {"ratings": lambda: synth_ratings("ml-10m", 0.001), "letor": lambda: synth_letor("mq2008", 0.05)}
PARTS = {"edges": np.array(EDGES), "tensor": GRID}

# name: (bytes, or a function of a folder that makes them; reader (path, folder), None for one of the plain ones).
READERS = {"ratings": read_ratings, "pairs": read_pairs, "titles": read_titles, "letor": read_letor}
CASES = {
    "ratings csv": CSV,
    "ratings csv, text ids later on": lines(lambda u, i, r: f"{u},{i},{r}") + b"anna,7,3\n",
    "ratings csv without newline": CSV[:-1],
    "ratings csv with a byte order mark and CRLF": b"\xef\xbb\xbfuser,item,rating\r\n" + CSV.replace(b"\n", b"\r\n"),
    "ratings tsv": lines(lambda u, i, r: f"{u}\t{i}\t{r}"),
    "ratings movielens": DATED,
    "ratings netflix": b"".join(b"%d:\n" % movie + lines(lambda u, i, r: f"{u},{r},2005-09-06") for movie in (3, 9)),
    "ratings netflix-mm": MATRIX,
    "ratings gz": gzip.compress(CSV),
    "ratings gz of two parts": gzip.compress(CSV) + gzip.compress(CSV),
    "ratings bz2": bz2.compress(CSV),
    "ratings xz": lzma.compress(CSV),
    "ratings zip": zipped(CSV),
    "ratings npz": matrix(),
    "ratings gkr": saved(".gkr", write_ratings, SAMPLE["ratings"]),
    "ratings parquet": saved(".parquet", write_ratings, SAMPLE["ratings"]),
    "ratings times": (DATED, timed),
    "pairs": PAIRS,
    "pairs gz": gzip.compress(PAIRS),
    "titles": TITLES,
    "titles xz": lzma.compress(TITLES),
    "letor": LETOR,
    "letor without newline": LETOR[:-1],
    "letor bz2": bz2.compress(LETOR),
    "letor zip": zipped(LETOR),
    "letor gkl": saved(".gkl", write_letor, SAMPLE["letor"]),
    "letor parquet": saved(".parquet", write_letor, SAMPLE["letor"]),
    "graph npz": (saved(".npz", lambda data, path: write_graph(path, data), lambda: synth_graph(vertices=30)), None),
    "edges": (LIST, of_edges),
    "edges gz": (gzip.compress(LIST), of_edges),
    "edges npy": (array(np.array(EDGES)), of_edges),
    "edges npz": (arrays(edges=np.array(EDGES)), of_edges),
    "edges with values in a file": (
        LIST,
        with_companion(tensor=b"".join(b"v%d,%d,3\n" % (row, row) for row in range(12))),
    ),
    "values npy": (array(GRID), with_companion(edges=b"".join(b"%d %d\n" % edge for edge in EDGES))),
    "values npz": (arrays(tensor=GRID), with_companion(edges=b"".join(b"%d %d\n" % edge for edge in EDGES))),
    "values text": (
        b"".join(b"%d,%d,3\n" % (row, row) for row in range(12)),
        with_companion(edges=LIST.replace(b"v", b"")),
    ),
    # errors
    "ratings of nothing": b"",
    "ratings with a bad line": CSV + b"1,2\n" + CSV,
    "ratings with a byte of 0": CSV + b"1,\0,2\n" + CSV,
    "ratings gz cut short": gzip.compress(CSV)[:-9],
    "ratings zip cut short": zipped(CSV)[:-9],
    "ratings gkr cut short": lambda folder: CASES["ratings gkr"](folder)[:-9],
    "ratings parquet cut short": lambda folder: CASES["ratings parquet"](folder)[:-9],
    "letor cut short": LETOR[:-30],
    "letor gkl cut short": lambda folder: CASES["letor gkl"](folder)[:-9],
    "graph npz cut short": (arrays(**PARTS)[:-9], None),
    "titles of nothing": b"\n",
}


@contextlib.contextmanager
def fed(raw, open_end):
    """Write raw in pieces of irregular sizes to the result of open_end, while the body runs."""

    def write():
        with contextlib.suppress(BrokenPipeError), open(open_end(), "wb", buffering=0) as file:
            for start in range(0, len(raw), 50_001):
                file.write(raw[start : start + 50_001])

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    yield
    thread.join(20)
    assert not thread.is_alive(), "the reader left the writer waiting"


@contextlib.contextmanager
def fifo(raw, folder):
    path = folder / "fifo"
    os.mkfifo(path)
    with fed(raw, lambda: path):
        yield path


@contextlib.contextmanager
def substituted(raw, folder):
    """Return /dev/fd/N, as in the shell's <(command)."""
    end, other = os.pipe()
    with fed(raw, lambda: other):
        try:
            yield f"/dev/fd/{end}"
        finally:
            os.close(end)


@contextlib.contextmanager
def standard(end):
    before = os.dup(0)
    os.dup2(end, 0)
    os.close(end)
    try:
        yield "-"
    finally:
        os.dup2(before, 0)
        os.close(before)


@contextlib.contextmanager
def piped(raw, folder):
    end, other = os.pipe()
    with fed(raw, lambda: other), standard(end) as name:
        yield name


@contextlib.contextmanager
def redirected(raw, folder):
    (folder / "input").write_bytes(raw)
    with standard(os.open(folder / "input", os.O_RDONLY)):
        yield "/dev/stdin"


@contextlib.contextmanager
def redirected_further_on(raw, folder):
    """A file whose first line another program has read."""
    (folder / "input").write_bytes(b"first line\n" + raw)
    end = os.open(folder / "input", os.O_RDONLY)
    os.read(end, 11)
    with standard(end) as name:
        yield name


WAYS = [fifo, substituted, piped, redirected, redirected_further_on]


def answer(read, path, folder):
    """Return the result of reading: plain values, or the error without the source's name."""
    try:
        found = read(path, folder)
    except DataError as error:
        said, name = str(error), "standard input" if str(path) in ("-", "/dev/stdin") else str(path)
        assert "\n" not in said and name in said
        return said.replace(name, "IT").replace(" (it can be read only once)", "")
    return plain(found)


def plain(value):
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if scipy.sparse.issparse(value):
        return plain(value.toarray())
    if isinstance(value, (tuple, list)):
        return [plain(part) for part in value]
    if hasattr(value, "columns") and hasattr(value, "user_ids"):
        return plain([*value.columns().values(), value.user_ids, value.item_ids])
    return value


@pytest.mark.parametrize("case, way", thinned(CASES, WAYS, share=6))
def test_a_pipe_gives_what_a_file_gives(tmp_path, monkeypatch, case, way):
    raw, read = CASES[case] if isinstance(CASES[case], tuple) else (CASES[case], None)
    plainly = READERS.get(case.split()[0], read_graph)
    read = read or (lambda path, folder: plainly(path))
    raw = raw if isinstance(raw, bytes) else raw(tmp_path)
    (tmp_path / "file").write_bytes(raw)
    expected = answer(read, tmp_path / "file", tmp_path)
    monkeypatch.setattr("gpukit.io.sources.BLOCK", 30_000)
    assert answer(read, tmp_path / "file", tmp_path) == expected
    with way(raw, tmp_path) as path:
        assert answer(read, path, tmp_path) == expected
