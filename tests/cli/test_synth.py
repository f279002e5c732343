"""`gpukit synth ratings` and `letor`; the demo's samples are the results of their commands."""

import json

import numpy as np
import pytest

from gpukit.cli.main import run
from gpukit.documents import find_folds, read_letor, synth_letor
from gpukit.graphs import read_graph, synth_graph
from gpukit.ratings import read_ratings, read_titles, synth_ratings


def test_synth_ratings(tmp_path, capsys):
    out = tmp_path / "s.gkr"
    assert run(["synth", "ratings", "--like", "ml-10m", "--scale", "0.001", "--seed", "3", str(out), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    made, expected = read_ratings(out), synth_ratings("ml-10m", 0.001, 3)
    assert np.array_equal(made.values, expected.values) and np.array_equal(made.items, expected.items)
    assert facts["ratings"] == len(expected) and facts["noise_floor"] < facts["factor_floor"] < facts["bias_floor"]


def test_refused(tmp_path, capsys):
    for arguments, message in (
        (["--scale", "0"], "scale must be"),
        (["--users", "5", "--items", "5", "--ratings", "99"], "do not fit"),
    ):
        assert run(["synth", "ratings", *arguments, str(tmp_path / "s.csv")]) == 2
        assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def lines_of(root, tmp_path):
    """Return the arguments of each command in data/README.md that makes a sample.

    tmp_path replaces data.
    """
    lines = [line.strip() for line in (root / "data" / "README.md").read_text().splitlines()]
    return [
        [word.replace("data/", f"{tmp_path}/") for word in line.split()[1:]]
        for line in lines
        if line.startswith("gpukit synth")
    ]


def same(made, kept):
    """Compare files bitwise; arrays from LAPACK, which differs between machines, approximately."""
    if made.suffix != ".npz":
        assert made.read_bytes() == kept.read_bytes(), kept
        return
    with np.load(made, allow_pickle=False) as left, np.load(kept, allow_pickle=False) as right:
        assert left.files == right.files
        for name in left.files:
            assert np.allclose(left[name], right[name], rtol=0, atol=1e-4, equal_nan=True), name


def test_the_samples_are_what_their_lines_make(root, tmp_path):
    for words in lines_of(root, tmp_path):
        assert run([*words, "--quiet"]) == 0
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    there = sorted(path.relative_to(root / "data") for path in (root / "data").rglob("*") if path.is_file())
    assert [*map(str, made)] == [str(path) for path in there if path.name != "README.md"]
    for path in made:
        same(tmp_path / path, root / "data" / path)
    assert sum((root / "data" / path).stat().st_size for path in made) < 1_300_000
    assert len(read_titles(root / "data" / "titles-sample.csv")) == 500


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["txt", "gkl"])
def test_synth_letor_file(tmp_path, capsys, suffix):
    out = tmp_path / f"s.{suffix}"
    assert run(["synth", "letor", "--like", "mq2008", "--scale", "0.1", "--seed", "3", str(out), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    made, expected = read_letor(out, dtype="float32"), synth_letor("mq2008", 0.1, 3)
    for left, right in zip(made[:4], expected[:4], strict=True):
        assert np.array_equal(left, right)
    assert facts["documents"] == len(expected.y) and facts["features"] == 46


@pytest.mark.parametrize("options, folds, suffix", [([], 5, ".txt"), (["--folds", "2"], 2, ".txt")])
def test_synth_letor_folder(tmp_path, capsys, options, folds, suffix):
    out = tmp_path / "MQ"
    assert run(["synth", "letor", "--like", "mq2008", "--scale", "0.05", str(out), *options]) == 0
    found = find_folds(out)
    assert len(found) == folds and {path.suffix for fold in found for path in fold[1:]} == {suffix}
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    assert size > 1e5 and f"; {size / 1e6:,.1f} MB." in capsys.readouterr().out


def test_what_synth_letor_refuses(tmp_path, capsys):
    for arguments, message in (
        (["s.txt", "--scale", "0"], "scale must be"),
        (["s.gkl", "--folds", "2"], "for a folder"),
        ([".", "--scale", "0.1"], "exists already"),
        (["none/s.txt"], "does not exist"),
        (["none/s"], "does not exist"),
        (["s", "--like", "mq2008", "--scale", "0.005"], "cannot be cut"),
    ):
        assert run(["synth", "letor", str(tmp_path / arguments[0]), *arguments[1:]]) == 2
        assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.fixture
def bases(tmp_path_factory, monkeypatch):
    """The folder of Fourier bases of these tests."""
    folder = tmp_path_factory.getbasetemp() / "bases"
    monkeypatch.setattr("gpukit.graphs.basis.cache_folder", lambda: folder)


GRAPH = ["--slice", "5x4", "--rank", "2", "--seed", "3"]


@pytest.mark.parametrize(
    "options, request_",
    [
        (["--vertices", "30"], dict(vertices=30)),
        (["--vertices", "30", "--entries", "--missing", "0.4"], dict(vertices=30, entries=True, missing=0.4)),
        (
            ["--like", "ego-facebook", "--vertices", "40", "--noise", "0.1"],
            dict(like="ego-facebook", vertices=40, noise=0.1),
        ),
    ],
)
def test_synth_graph(tmp_path, capsys, bases, options, request_):
    out = tmp_path / "g.npz"
    assert run(["synth", "graph", *options, *GRAPH, "--output", str(out), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    made, expected = read_graph(out), synth_graph(**request_, shape=(5, 4), rank=2, seed=3)
    for name in ("tensor", "mask", "truth"):
        assert np.array_equal(getattr(made, name), getattr(expected, name)), name
    assert (made.adjacency != expected.adjacency).nnz == 0 and made.vertices is None
    assert (facts["vertices"], facts["slice"], facts["values"]) == (len(made.tensor), [5, 4], made.tensor.size)
    assert facts["edges"] == expected.adjacency.nnz // 2 and facts["missing"] == pytest.approx(made.missing_share)
    assert facts["missing_kind"] == ("entries" if "entries" in request_ else "slices")
    assert facts["bytes"] == out.stat().st_size


def test_synth_graph_on_real_edges(tmp_path, capsys, bases):
    edges, out = tmp_path / "e.txt", tmp_path / "g.npz"
    edges.write_text("# a ring\nann bob\nbob cid\ncid dan\ndan ann\n")
    assert run(["synth", "graph", "--edges", str(edges), *GRAPH, "-o", str(out)]) == 0
    assert "4 vertices, 4 edges, slices of 5 x 4, 25.0% of the slices missing; " in capsys.readouterr().out
    made = read_graph(out)
    assert made.vertices.tolist() == ["ann", "bob", "cid", "dan"] and made.truth.shape == (4, 5, 4)
    assert run(["synth", "graph", "--edges", str(edges), *GRAPH, "-o", str(out), "--quiet", "--force"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "options, message",
    [
        (["--slice", "5"], "is not rows x columns of a slice"),
        (["--slice", "0x5"], "is not rows x columns of a slice"),
        (["--slice", "3x3", "--rank", "4"], "rank must be at most the smaller side of a slice, 3; got 4"),
        (["--edges", "none.txt"], "none.txt does not exist"),
        (["--edges", "none.txt", "--like", "random"], "--like and --vertices are for generated graphs"),
        (["--missing", "1.5"], "--missing"),
        (["--output", "g.csv"], "must end in .npz"),
        (["--output", "none/g.npz"], "does not exist"),
    ],
)
def test_what_synth_graph_refuses(refused, bases, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    output = [] if "--output" in options else ["--output", "g.npz"]
    assert message in refused("synth", "graph", *options, *output)
    assert not list(tmp_path.iterdir())
