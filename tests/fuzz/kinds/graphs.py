"""Graphs: archives, edges and adjacencies as text and Parquet, with values."""

import gzip
import io

import numpy as np

from fuzz.judges import tables
from fuzz.mutate import archive, parquet, raw
from fuzz.mutate.text import TEXT
from fuzz.registry import Kind, Sample, single

N = 9


def adjacency(seed=0):
    """(N, N) symmetric weights."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((N, N)) < 0.4, 1) * rng.integers(1, 5, (N, N)) / 2 + np.eye(N, k=1)
    return upper + upper.T


def tensor(*shape, seed=1):
    """(N, ...) float64 with a few missing values."""
    values = np.random.default_rng(seed).normal(size=(N, *shape)).round(3)
    values.reshape(-1)[[2, -1]] = np.nan
    return values


def archives():
    """Samples of .npz in all forms of a graph."""
    from scipy import sparse

    A, T = adjacency(), tensor(3, 4)
    csr, edges = sparse.csr_array(A), np.argwhere(np.triu(A))
    parts = {f"adjacency_{name}": getattr(csr, name) for name in ("data", "indices", "indptr")} | {
        "adjacency_shape": np.array(A.shape)
    }
    more = {"vertices": np.arange(N) + 5, "truth": np.nan_to_num(T), "mask": np.isfinite(T), "times": np.arange(4) * 60}
    return [
        {"tensor": T, "adjacency": A},
        {
            "tensor": tensor(4),
            "edges": edges,
            "weights": A[tuple(edges.T)],
            "vertices": np.array([f"v{k}" for k in range(N)]),
        },
        {"tensor": T, **parts, **more},
        {"tensor": tensor(), "edges": edges, "mask": np.isfinite(tensor())},
    ]


def edge_lines(sep=" ", name="{}", weights=True, header=""):
    """Text of the edges."""
    A = adjacency()
    rows = [
        sep.join((name.format(i), name.format(j), *([f"{A[i, j]:g}"] if weights else [])))
        for i, j in np.argwhere(np.triu(A)).tolist()
    ]
    return ("\n".join(([header] if header else []) + rows) + "\n").encode()


def value_lines(sep=",", names=None, turned=False):
    """Text of values: a vertex per row or per column."""
    values = tensor(14)
    rows = [["nan" if np.isnan(x) else f"{x:g}" for x in row] for row in (values.T if turned else values)]
    if names and turned:
        rows = [list(names), *rows]
    if names and not turned:
        rows = [[name, *row] for name, row in zip(names, rows)]
    return ("\n".join(sep.join(row) for row in rows) + "\n").encode()


def text_samples():
    """Two files of text."""
    words, square = [f"s{k}" for k in range(N)], "\n".join(",".join(f"{x:g}" for x in row) for row in adjacency())
    pairs = [
        (edge_lines(), value_lines()),
        (edge_lines("\t", "s{}", header="from\tto\tweight"), value_lines(names=words)),
        (edge_lines(",", weights=False), value_lines(" ", turned=True)),
        (edge_lines(",", "s{}"), value_lines(",", words, turned=True)),
        (b"# c\n" + square.encode() + b"\n", value_lines()),
    ]
    samples = [Sample({"e.txt": e, "v.csv": v}, "e.txt", ("e.txt", "e.txt", "v.csv")) for e, v in pairs]
    packed = {"e.txt": gzip.compress(edge_lines(), mtime=0), "v.csv": value_lines()}
    return [*samples, Sample(packed, "e.txt", ("e.txt", "v.csv"))]


def npy_samples():
    """Files of single arrays: a list of edges or an adjacency, with a tensor."""
    edges = np.argwhere(np.triu(adjacency()))
    pairs = ((edges, tensor(3, 4)), (adjacency(), tensor(5)), (edges, tensor(14)))
    return [Sample({"e.npy": archive.npy(e), "v.npy": archive.npy(v)}, "e.npy", ("e.npy", "v.npy")) for e, v in pairs]


def parquet_samples():
    """Parquet: edges and values."""
    import pyarrow

    A, T = adjacency(), tensor(14)
    edges = np.argwhere(np.triu(A))
    e = pyarrow.table({"from": edges[:, 0], "to": edges[:, 1], "weight": A[tuple(edges.T)]})
    v = pyarrow.table({str(k): T[k] for k in range(N)})
    return [
        Sample(
            {"e.parquet": parquet.written(e), "v.parquet": parquet.written(v)}, "e.parquet", ("e.parquet", "v.parquet")
        )
    ]


def edit_npy(data, rng):
    """Mutate an array of a .npy, or its header."""
    if rng.random() < 0.3:
        inside = archive.edit_npy_header(archive.zipped([("a.npy", data)]), rng)
        return archive.unzip(inside)[0][1]
    from fuzz.mutate import arrays

    return archive.npy(arrays.one(np.load(io.BytesIO(data), allow_pickle=True), rng))


def describe(found):
    """Return {name: array} of a GraphTensor, and the smallest eigenvalues of its Laplacian."""
    from gpukit.graphs.adjacency import normalized_laplacian

    A = found.adjacency
    wrong = tables.csr("adjacency", A.data, A.indices, A.indptr, A.shape)
    dense = np.zeros((1, 1)) if wrong or max(A.shape) > 5000 else A.toarray()
    values = np.linalg.eigvalsh(normalized_laplacian(A).toarray()) if 1 < len(dense) < 200 else np.zeros(0)
    names = ("tensor", "mask", "vertices", "truth", "times")
    return {"wrong": wrong, "adjacency": dense, "spectrum": values, **{name: getattr(found, name) for name in names}}


def from_archive(path, use):
    """read_graph of one file."""
    from gpukit.graphs.read import read_graph

    return describe(read_graph(path))


def from_files(path, use):
    """read_graph of two files."""
    from gpukit.graphs.read import read_graph

    values = next(one for one in path.parent.iterdir() if one.name.startswith("v."))
    return describe(read_graph(edges=path, tensor=values, layout=use.get("layout"), slice_shape=use.get("shape")))


def edges(path, use):
    """read_graph_text: a list of edges or an adjacency."""
    from gpukit.graphs.table import read_graph_text

    A, ids = read_graph_text(path)
    wrong = tables.csr("adjacency", A.data, A.indices, A.indptr, A.shape)
    return {
        "wrong": wrong,
        "adjacency": A.toarray() if not wrong and max(A.shape) < 5000 else np.zeros((1, 1)),
        "ids": ids,
    }


def judge(found, files):
    """Valid; the spectrum of a normalized Laplacian is in [0, 2]."""
    spectrum = found["spectrum"]
    if len(spectrum) and not (spectrum.min() > -1e-6 and spectrum.max() < 2 + 1e-6):
        return f"eigenvalues from {spectrum.min()} to {spectrum.max()}"
    if found["wrong"] or len(found["tensor"]) > 5000:
        return found["wrong"]
    return tables.graph(found, files)


def judge_edges(found, files):
    """Valid; every id is in the file."""
    tensor = np.ones((len(found["adjacency"]), 1, 1))
    alone = {
        "tensor": tensor,
        "mask": np.ones(len(tensor), bool),
        "vertices": found["ids"],
        "truth": None,
        "times": None,
    }
    wrong = found["wrong"] or tables.graph({**found, **alone}, files)
    if wrong or found["ids"] is None:
        return wrong
    text = b"\n".join(files.values())
    shown = text.decode("utf-8", "replace") + text.decode("latin-1") + text.decode("cp1252", "replace")
    shown += shown.replace('"', "")
    strange = [one for one in found["ids"].tolist() if str(one) not in shown]
    return f"the id {strange[0]!r} is not in the file" if strange else None


def uses(rng):
    """Return a layout, and sometimes slices."""
    draw = rng.random()
    if draw < 0.8:
        return {}
    return {"layout": ("rows", "columns")[rng.integers(2)]} if draw < 0.9 else {"shape": [2, 7]}


def edge_samples():
    """Lists of edges and an adjacency, without values."""
    return [single(sample.path, sample.files[sample.path]) for sample in text_samples()[:5]]


KINDS = [
    Kind(
        "graph-npz",
        lambda: [single("g.npz", archive.npz(a)) for a in archives()],
        archive.NPZ,
        from_archive,
        judge,
        share=2,
    ),
    Kind("graph-text", text_samples, TEXT, from_files, judge, share=1.5),
    Kind("graph-edges", edge_samples, TEXT, edges, judge_edges, pipes=True, share=1.5),
    Kind("graph-npy", npy_samples, (edit_npy, edit_npy, edit_npy, *raw.BYTES[:8]), from_files, judge, share=0.7),
    Kind("graph-parquet", parquet_samples, parquet.PARQUET, from_files, judge, share=0.7),
]
