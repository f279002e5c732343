"""Errors of `gpukit impute`: one line, exit code 2, no output.

They are raised before the computation if possible.
"""

import os
import pickle

import numpy as np
import pytest
from cli_support import CPU

RING = [[0, 1], [1, 2], [2, 3], [3, 0]]
TENSOR = np.arange(24.0).reshape(4, 2, 3)
TENSOR[1] = np.nan


@pytest.fixture(autouse=True)
def bases(tmp_path_factory, monkeypatch):
    """The Fourier bases of these tests are in a separate folder."""
    folder = tmp_path_factory.getbasetemp() / "bases"
    monkeypatch.setattr("gpukit.graphs.basis.cache_folder", lambda: folder)


@pytest.fixture
def untouched(refused, tmp_path):
    """Return untouched(arguments) -> the one line of the error.

    No file has appeared or changed.
    """

    def check(*arguments):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        output = () if "--output" in arguments else ("--output", tmp_path / "o.npz")
        line = refused("impute", *arguments, *output, "--plot", tmp_path / "p.png", "--quiet", *CPU)
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
        return line

    return check


@pytest.fixture
def arrays(tmp_path):
    """Return arrays(tensor=..., edges=...) -> an .npz with these arrays; valid by default."""

    def make(**found):
        np.savez(tmp_path / "a.npz", **(found or {"edges": RING, "tensor": TENSOR}))
        return tmp_path / "a.npz"

    return make


def changed(place, value, size=4):
    """Return a ring's adjacency with one entry changed."""
    A = np.roll(np.eye(size), 1, axis=0) + np.roll(np.eye(size), -1, axis=0)
    A[place] = value
    return A


def at(place, value):
    """Return TENSOR with one value changed."""
    tensor = TENSOR.copy()
    tensor[place] = value
    return tensor


WRONG = {
    "asymmetric": ({"adjacency": changed((0, 1), 3)}, "not symmetric"),
    "negative": ({"adjacency": changed(([0, 1], [1, 0]), -1)}, "negative"),
    "not a number": ({"adjacency": changed(([0, 1], [1, 0]), np.nan)}, "nan"),
    "not square": ({"adjacency": changed((0, 1), 1)[:, :3]}, "square"),
    "self-loops only": ({"adjacency": np.eye(4)}, "no edges but self-loops"),
    "a self-loop only": ({"edges": [[1, 1]]}, "no edges but self-loops"),
    "no edges": ({"adjacency": np.zeros((4, 4))}, "no edges"),
    "an edge to nowhere": ({"edges": [[0, 1], [1, 4]]}, "vertex 4"),
    "weights of other edges": ({"edges": RING, "weights": [1.0, 2.0]}, "weights"),
    "nothing observed": ({"tensor": np.full((4, 2, 3), np.nan)}, "nothing is observed"),
    "all masked": ({"mask": np.zeros(4, bool)}, "nothing is observed"),
    "another N": ({"adjacency": changed((0, 1), 1, 5)}, "5 vertices"),
    "an infinity": ({"tensor": at((2, 1, 1), np.inf)}, "vertex 2, row 1, column 1"),
    "minus infinity": ({"tensor": at((0, 0, 0), -np.inf)}, "-inf"),
    "text": ({"tensor": np.array([["a"] * 3] * 4)}, "not real numbers"),
    "complex": ({"tensor": TENSOR + 1j}, "not real numbers"),
    "four axes": ({"tensor": TENSOR[..., None]}, "axes"),
    "a mask of another shape": ({"mask": np.ones((4, 3), bool)}, "mask has the shape"),
    "a mask of numbers": ({"mask": np.full(4, 2)}, "mask must hold"),
    "NaN observed": ({"mask": np.ones(4, bool)}, "where the mask says observed"),
    "a truth of another shape": ({"truth": np.ones((4, 2, 2))}, "truth has the shape"),
    "ids twice": ({"vertices": np.array([1, 2, 2, 3])}, "twice"),
    "slices over 512": (
        {"tensor": np.where(np.arange(4)[:, None, None] == 1, np.nan, np.ones((4, 513, 2)))},
        "at most 512 rows and columns are supported. Cut them",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_data(untouched, arrays, case):
    parts, words = WRONG[case]
    graph = {} if {"edges", "adjacency"} & set(parts) else {"edges": RING}
    assert words in untouched(arrays(**{"tensor": TENSOR, **graph, **parts}))


@pytest.mark.parametrize(
    "found",
    [
        {"values": TENSOR, "edges": RING},
        {"tensor": TENSOR, "graph": RING},
        {"tensor": TENSOR, "adjacency_data": np.ones(3)},
        {"tensor": TENSOR, "edges": RING, "adjacency": np.ones((4, 4))},
    ],
)
def test_wrong_keys(untouched, arrays, found):
    line = untouched(arrays(**found))
    assert f"Found: {', '.join(found)}." in line and "Needed: tensor (N, m, n)" in line


class Trap:
    """Code that a pickle could run."""

    def __reduce__(self):
        return os.mkdir, ("sprung",)


def test_object_arrays_are_not_unpickled(untouched, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("o1.npz", tensor=np.array([Trap()], dtype=object), edges=RING)
    assert "would have to be unpickled" in untouched(tmp_path / "o1.npz")
    np.save("o2.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    (tmp_path / "e.txt").write_text("0 1\n1 2\n")
    assert "would have to be unpickled" in untouched("--edges", "e.txt", "--tensor", "o2.npy")
    (tmp_path / "p.npz").write_bytes(pickle.dumps(Trap()))
    assert "is no .npz archive" in untouched("p.npz") and not (tmp_path / "sprung").exists()


def test_files(untouched, arrays, tmp_path):
    whole = arrays().read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.npz").touch()
    (tmp_path / "e.csv").write_text("0,1\n1,2\n")
    np.save(tmp_path / "e.npy", np.ones((5, 2)))
    for path, words in (
        ("cut.npz", "cut"),
        ("empty.npz", "is empty. Give values, or an .npz"),
        ("e.npy", "--edges FILE --tensor FILE"),
        ("none.npz", "none.npz does not exist"),
        (".", "is a folder"),
    ):
        assert words in untouched(tmp_path / path)
    (tmp_path / "v.csv").write_text("1,2\n3,four\n5,6\n")
    assert "four" in untouched("--edges", tmp_path / "e.csv", "--tensor", tmp_path / "v.csv")
    np.save(tmp_path / "v.npy", np.ones((5, 2)))
    assert "5" in untouched("--edges", tmp_path / "e.csv", "--tensor", tmp_path / "v.npy", "--slice", "3x1")


def begun(*_, **__):
    pytest.fail("the work had begun")


@pytest.mark.parametrize(
    "options, words",
    [
        ((), "give one file FILE"),
        (("--edges", "e"), "give one file FILE"),
        (("a.npz", "--edges", "e", "--tensor", "t"), "give one file FILE"),
        (("t", "--edges", "e", "--distances", "d"), "give one of the three"),
        (("t", "--coordinates", "e", "--distances", "d"), "give one of the three"),
        (("t", "--edges", "e", "--nearest", 3), "--nearest 3 makes a graph, and --edges passes one"),
        (("t", "--nearest", "0"), "--nearest"),
        (("a.npz", "--weights", "best"), "--weights"),
        (("a.npz", "--center", "vertex"), "--center"),
        (("a.npz", "--lambda-decay", 1), "--lambda-decay"),
        (("a.npz", "--lambda-decay", 0), "--lambda-decay"),
        (("a.npz", "--lambda-decay", "nan"), "decay"),
        (("a.npz", "--iterations", 0), "--iterations"),
        (("a.npz", "--tolerance", -1), "--tolerance"),
        (("a.npz", "--tolerance", "nan"), "tolerance"),
        (("a.npz", "--basis-size", 0), "--basis-size"),
        (("a.npz", "--dtype", "float16"), "--dtype"),
        (("a.npz", "--device", "tpu"), "tpu"),
        (("a.npz", "--slice", "3"), "rows x columns"),
        (("a.npz", "--layout", "both"), "--layout"),
        *(
            (("a.npz", "--method", "kriging", *unused), f"--method kriging does not use {unused[0]}")
            for unused in (
                *(("--weights", "common"), ("--center", "entry"), ("--lambda-decay", 0.5), ("--iterations", 20)),
                *(("--tolerance", 1e-8), ("--no-acceleration",), ("--no-rank-phase",)),
            )
        ),
        (("a.npz", "--output", "o.csv"), "must end in .npz"),
        (("a.csv", "--output", "o.xlsx"), "must end in .csv, .tsv, .txt, .parquet (table) or .npz (arrays)"),
        (("a.npz", "--output", "no/such/o.npz"), "does not exist"),
        (("a.npz", "--output", "a.npz", "--force"), "would overwrite a file that this command reads"),
        (("a.npz", "--plot", "p.doc"), ".png"),
        (("a.npz", "--plot", "no/such/p.png"), "does not exist"),
        (("--edges", "e", "--tensor", "t.npz", "--output", "t.npz", "--force"), "would overwrite"),
    ],
)
def test_options_that_cannot_work(refused, arrays, tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(arrays().parent)
    (tmp_path / "t.npz").touch()
    monkeypatch.setattr("gpukit.graphs.read.read_graph", begun)
    assert words in refused("impute", *CPU, *options)
    assert sorted(os.listdir(tmp_path)) == ["a.npz", "t.npz"]


def test_an_output_that_exists_is_kept(untouched, arrays, tmp_path, monkeypatch):
    (tmp_path / "o.npz").write_text("mine")
    monkeypatch.setattr("gpukit.graphs.read.read_graph", begun)
    line = untouched(arrays(), "--output", tmp_path / "o.npz")
    assert "is there already and is kept" in line and "--force" in line


def test_requests_that_the_data_cannot_meet(untouched, arrays):
    assert "--basis-size must be" in untouched(arrays(), "--basis-size", 5)
    assert "layout is for a table" in untouched(arrays(), "--layout", "rows")
    assert "slices of 4 x 4" in untouched(arrays(), "--slice", "4x4")
    assert "brings its graph" in untouched(arrays(), "--edges", arrays())


def test_a_graph_too_large_for_a_whole_basis(untouched, arrays, monkeypatch):
    monkeypatch.setattr("gpukit.graphs.basis.available_memory", lambda: 100)
    line = untouched(arrays(edges=[[i, i + 1] for i in range(8)], tensor=np.r_[np.ones((8, 2)), [[np.nan] * 2]]))
    assert "--basis-size" in line and "an approximation" in line


def test_a_header_without_names(refused, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text(",,\n2024-01-01 00:00,1,2\n2024-01-01 01:00,,3\n2024-01-01 02:00,4,3\n")
    line = refused("impute", table, "--quiet", *CPU)
    assert "the first line names no column. Name them there, or take the line away." in line


def test_a_missing_value_beyond_float32_is_nowhere(verb, arrays, recwarn):
    found = verb("impute", arrays(edges=RING, tensor=TENSOR.astype(np.float32)), "--missing-value", "1e300", *CPU, "-q")
    assert found.code == 0 and not [one for one in recwarn if "overflow" in str(one.message)]
