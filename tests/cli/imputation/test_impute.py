"""`gpukit impute`: output, files and pictures."""

import json
import os
import re
import signal

import numpy as np
import pytest
from cli_support import CPU

from gpukit.cli.imputation import steps
from gpukit.cli.imputation import table as impute_table
from gpukit.graphs import read_graph, synth_graph, write_graph
from gpukit.imputation import GraphImputer

PLAIN = ("--weights", "slice", "--center", "none", "--iterations", 6, "--no-rank-phase", *CPU)  # quick
RING = [[i, (i + 1) % 30] for i in range(30)] + [[i, (i + 7) % 30] for i in range(30)]
STRETCHES = (
    "start",
    "reading",
    "compiling",
    "choosing",
    "basis",
    "iterations",
    "transform",
    "thresholding",
    "writing",
    "evaluating",
)


@pytest.fixture(autouse=True)
def bases(tmp_path_factory, monkeypatch):
    """The Fourier bases of these tests are in a separate folder."""
    folder = tmp_path_factory.getbasetemp() / "bases"
    monkeypatch.setattr("gpukit.graphs.basis.cache_folder", lambda: folder)


@pytest.fixture
def graph(tmp_path):
    """Return graph(entries=True, ...) -> (an .npz, the tensor).

    A graph tensor of rank 1 by synth_graph.
    """

    def make(name="g.npz", **request):
        data = synth_graph(**{"vertices": 30, "shape": (6, 5), "rank": 1, "seed": 1, **request})
        write_graph(tmp_path / name, data)
        return tmp_path / name, data

    return make


@pytest.fixture
def arrays(tmp_path):
    """arrays(tensor=..., edges=...) -> an .npz with these arrays."""

    def make(**found):
        np.savez(tmp_path / "a.npz", **found)
        return tmp_path / "a.npz"

    return make


def as_json(verb, *arguments):
    result = verb("impute", *arguments, "--json")
    assert result.code == 0 and result.err == "", result
    return json.loads(result.out)


def written(path):
    """Return {name: array} of an output; loading fails for objects."""
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def smooth(count=30, shape=(6, 5), seed=0):
    """Values (N, m, n) near 50, which need centering to beat the mean."""
    return 50 + np.random.default_rng(seed).normal(size=(count, *shape))


# --- output


def test_the_closing_table(verb, graph, tmp_path):
    path, data = graph()
    result = verb("impute", path, "--output", tmp_path / "o.npz", "--baselines", *CPU)
    assert result.code == 0 and "Traceback" not in result.err, result
    sizes = f"30 vertices, {data.adjacency.nnz // 2} edges, slices of 6 x 5, 20.0% of the slices missing"
    assert re.search(rf"^GraphImputer on cpu \(\d+ threads?\), float32: {sizes}$", result.out, re.M)
    assert f"{path}: {sizes}." in result.err and f"The completed tensor is in {tmp_path / 'o.npz'}." in result.err
    assert "Fourier basis: all 30 eigenvectors, from the cache" in result.out  # synth_graph has computed it
    assert "Weights slice, center none; 20 steps of falling thresholds, " in result.out
    assert "of fixed ranks, as hidden data decided" in result.out
    assert "Rank of the spectral slices: 1.0 in the mean, 1 at most" in result.out
    rows = result.out.split("mean |error|  weight\n")[1].splitlines()[:4]
    assert rows[0].split()[:5] == ["spectral", "weights", "slice,", "center", "none"]
    names = {re.split(r"\s{2,}", row.strip())[0] for row in rows}
    assert names == {"spectral", "vertex-mean", "vertex-median", "two-way-mean"}
    errors = [float(row.removesuffix("100%").split()[-1]) for row in rows]
    assert errors == sorted(errors) and errors[0] < 0.01 and "A baseline is better" not in result.out
    assert re.search(r"^Against the truth: relative error \S+e-0[4-9], mean \|error\| ", result.out, re.M)
    assert "Confidence of the 6 vertices that miss something: " in result.out
    for part in STRETCHES:
        assert re.search(rf"\b{part} \d+\.\d\d", result.out), part


@pytest.mark.parametrize("entries", [False, True])
def test_rows_of_numbers_come_back_as_rows(verb, tmp_path, entries):
    """(N, n) in, (N, n) out; slices are written with --slice."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(30, 1)) + 0.1 * rng.normal(size=(30, 12))
    lacking = rng.random((30, 12) if entries else 30) < 0.2
    values[lacking] = np.nan
    np.savez(tmp_path / "g.npz", tensor=values, edges=np.array(RING).reshape(-1, 2))
    for more, shape in (((), (30, 12)), (("--slice", "3x4"), (30, 3, 4))):
        result = verb("impute", tmp_path / "g.npz", *PLAIN, *more, "--output", tmp_path / "o.npz", "--force")
        assert result.code == 0, result.err
        found = written(tmp_path / "o.npz")
        assert found["tensor"].shape == shape and found["observed"].shape == (shape if entries else (30,))
        seen = ~np.isnan(values)
        np.testing.assert_array_equal(found["tensor"].reshape(30, 12)[seen], values[seen])
        assert np.isfinite(found["tensor"]).all()


def test_json_holds_all_that_there_is(verb, graph, tmp_path):
    path, data = graph(entries=True)
    found = as_json(verb, path, *PLAIN, "--baselines", "--seed", 3, "--output", tmp_path / "o.npz")
    assert (found["vertices"], found["edges"], found["slice"]) == (30, data.adjacency.nnz // 2, [6, 5])
    assert found["missing"] == pytest.approx(data.missing_share) and found["missing_kind"] == "entries"
    assert found["device"].startswith("cpu") and found["basis"]["size"] == 30 and found["basis"]["exact"]
    assert found["parameters"]["random_state"] == 3
    assert found["decided"]["weights"] == "slice" and not found["complete"] and found["files"] == [str(path)]
    assert len(found["history"]["change"]) >= 1 and found["history"]["phase"][0] == "path"
    assert len(found["comparison"]) == 4
    assert len(found["confidence"]["values"]) == 30
    assert found["rank"]["slices"] and found["rank"]["phase"] == "off"
    assert (set(STRETCHES) - {"choosing"}) | {"preparing"} == set(found["seconds"])
    assert found["output"] == str(tmp_path / "o.npz")
    assert [text.split(" with ")[0] for text in found["warnings"]] == ["the spectral slices ended"]


def test_errors_against_the_truth_are_those_of_the_output(verb, graph, tmp_path):
    path, data = graph(noise=0.05)
    found = as_json(verb, path, *PLAIN, "--output", tmp_path / "o.npz")
    full, lacking = written(tmp_path / "o.npz")["tensor"].astype(np.float64), ~data.mask
    wrong = (full - data.truth)[lacking]
    assert found["truth"]["mean_absolute"] == pytest.approx(np.abs(wrong).mean())
    assert found["truth"]["relative"] == pytest.approx(np.linalg.norm(wrong) / np.linalg.norm(data.truth))
    assert found["confidence"]["vertices"] == np.flatnonzero(lacking).tolist()


@pytest.mark.parametrize(
    "confidence, words",
    [(1.0, "1.000"), (0.9994, "0.999"), (0.99997, ">0.999"), (0.0, "0.000"), (np.float64(0.25), "0.250")],
)
def test_confidences_next_to_1_are_not_rounded_to_it(confidence, words):
    assert impute_table.sure(confidence) == words


def test_seconds_measured_inside_the_iterations_are_named_apart():
    seconds = {"basis": 1.0, "iterations": 5.0, "transform": 2.5, "thresholding": 1.5}
    assert steps.stretches(seconds) == {"basis": 1.0, "transform": 2.5, "thresholding": 1.5, "iterations": 1.0}
    assert steps.stretches({"basis": 1.0}) == {"basis": 1.0}  # nothing was missing


def test_a_baseline_that_wins_is_named(verb, arrays):
    tensor = smooth()
    tensor[[3, 8, 20]] = np.nan
    path = arrays(tensor=tensor, edges=np.array(RING))
    result = verb("impute", path, *PLAIN, "--baselines", "--quiet")
    assert re.search(
        r"^A baseline is better: .+ has error \S+ on the hidden values, the imputation \S+\.$", result.out, re.M
    )
    assert result.err == "" and as_json(verb, path, *PLAIN, "--baselines")["baseline_wins"] is True


def test_quiet_prints_the_result_alone(verb, graph):
    path, _ = graph()
    loud, quiet = verb("impute", path, *PLAIN), verb("impute", path, *PLAIN, "--quiet")
    assert quiet.err == "" and "GraphImputer on cpu" in quiet.out and "Seconds: " in quiet.out
    assert "Nothing was written; --output FILE keeps" in loud.err


# --- results


def test_options_reach_the_library(verb, graph):
    found = as_json(
        verb,
        graph()[0],
        "--weights",
        "common",
        "--center",
        "entry",
        "--lambda-decay",
        0.5,
        "--iterations",
        3,
        "--tolerance",
        0,
        "--no-acceleration",
        "--no-rank-phase",
        "--dtype",
        "float64",
        "--basis-size",
        9,
        "--seed",
        7,
        *CPU,
    )
    wanted = {
        "weights": "common",
        "center": "entry",
        "decay": 0.5,
        "iterations": 3,
        "tolerance": 0.0,
        "device": "cpu",
        "accelerate": False,
        "rank_phase": False,
        "dtype": "float64",
        "basis_size": 9,
        "random_state": 7,
    }
    assert {name: found["parameters"][name] for name in wanted} == wanted
    assert found["basis"]["size"] == 9 and found["basis"]["exact"] is False and len(found["history"]["phase"]) == 3
    assert found["rank"]["phase"] == "off" and len(found["rank"]["slices"]) == 9


@pytest.mark.parametrize("request_", [{}, {"entries": True}, {"dtype": "float64"}, {"shape": (1, 8)}])
def test_the_output_is_what_the_library_gives(verb, graph, tmp_path, request_):
    path, data = graph(**request_)
    found, output = as_json(verb, path, *PLAIN, "--output", tmp_path / "o.npz"), written(tmp_path / "o.npz")
    model = GraphImputer(weights="slice", center="none", iterations=6, rank_phase=False, device="cpu")
    wanted = model.fit_transform(data.adjacency, data.tensor, data.mask)
    assert output["tensor"].dtype == data.tensor.dtype and np.array_equal(output["tensor"], wanted)
    assert output["tensor"][data.mask].tobytes() == data.tensor[data.mask].tobytes()
    assert np.array_equal(output["observed"], data.mask) and np.isfinite(output["tensor"]).all()
    assert np.array_equal(output["confidence"], model.confidence_) and np.array_equal(output["ranks"], model.ranks_)
    for name, array in model.history_._asdict().items():
        assert np.array_equal(output[f"history_{name}"], array, equal_nan=array.dtype.kind == "f"), name
    options = json.loads(str(output["options"]))
    assert options["asked"]["iterations"] == 6 and options["decided"] == found["decided"]


def test_what_an_archive_may_hold(verb, arrays, tmp_path):
    """Edges with weights, a tensor (N, n), a mask, ids.

    The result equals that of the same data in other forms.
    """
    tensor, seen = smooth(shape=(8,)), np.ones(30, bool)
    seen[[2, 9]] = False
    ids = np.array([f"v{i}" for i in range(30)])
    output = ("--output", tmp_path / "o.npz", "--force", *PLAIN)
    as_json(verb, arrays(edges=RING, weights=np.full(60, 2.0), tensor=tensor, mask=seen, vertices=ids), *output)
    first = written(tmp_path / "o.npz")
    assert first["vertices"].tolist() == ids.tolist() and first["tensor"].shape == (30, 8)
    assert np.array_equal(first["tensor"][seen], tensor[seen]) and not np.allclose(first["tensor"][2], tensor[2])
    dense = np.zeros((30, 30))
    dense[tuple(np.transpose(RING))] = 2
    tensor[~seen] = np.nan
    as_json(verb, arrays(adjacency=dense + dense.T, tensor=tensor), *output)
    assert np.array_equal(written(tmp_path / "o.npz")["tensor"], first["tensor"])
    sliced = as_json(verb, arrays(adjacency=dense + dense.T, tensor=tensor), *output, "--slice", "2x4")
    assert sliced["slice"] == [2, 4] and written(tmp_path / "o.npz")["tensor"].shape == (30, 2, 4)


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_a_graph_and_its_values_in_two_files(verb, tmp_path, layout):
    values = np.round(smooth(shape=(12,)), 2)
    values[4] = values[11, 3] = np.nan
    (tmp_path / "e.txt").write_text("".join(f"{i} {j}\n" for i, j in RING))
    table = values if layout == "rows" else values.T
    text = "".join(",".join("" if np.isnan(x) else str(x) for x in row) + "\n" for row in table)
    (tmp_path / "v.csv").write_text(text)
    found = as_json(
        verb,
        "--edges",
        tmp_path / "e.txt",
        "--tensor",
        tmp_path / "v.csv",
        "--slice",
        "3x4",
        "--layout",
        layout,
        "--output",
        tmp_path / "o.npz",
        *PLAIN,
    )
    assert found["slice"] == [3, 4] and found["missing"] == pytest.approx(13 / 360)
    assert found["files"] == [str(tmp_path / "e.txt"), str(tmp_path / "v.csv")]
    full, seen = written(tmp_path / "o.npz")["tensor"].reshape(30, 12), ~np.isnan(values)
    assert np.array_equal(full[seen], values[seen]) and np.isfinite(full).all()


def test_an_isolated_vertex_is_legal_and_its_confidence_tells(verb, arrays):
    tensor = smooth(31)
    tensor[[3, 30]] = np.nan
    result = as_json(verb, arrays(tensor=tensor, edges=RING), *PLAIN)
    assert result["vertices"] == 31 and result["confidence"]["vertices"] == [3, 30]
    assert result["confidence"]["values"][1] == pytest.approx(0) and result["confidence"]["values"][0] > 0.5
    assert "least of 30 (0.000), 3 (" in verb("impute", arrays(tensor=tensor, edges=RING), *PLAIN).out


def test_nothing_missing_is_said_and_the_output_written(verb, arrays, tmp_path):
    tensor = smooth()
    path, more = arrays(tensor=tensor, edges=RING), ("--baselines", "--plot", tmp_path / "p.png")
    result = verb("impute", path, "--output", tmp_path / "o.npz", *more, *CPU)
    assert result.code == 0 and "Nothing is missing: the tensor is as it was." in result.out
    assert "Warning: nothing is missing" in result.err and (tmp_path / "p.png").is_file()
    assert written(tmp_path / "o.npz")["tensor"].tobytes() == tensor.tobytes()
    found = as_json(verb, path, *CPU)
    assert found["complete"] and len(found["warnings"]) == 1 and found["comparison"] == []


def test_an_output_is_replaced_by_force(verb, graph, tmp_path):
    path, _ = graph()
    (tmp_path / "o.npz").write_text("mine")
    assert verb("impute", path, "--output", tmp_path / "o.npz", "--force", *PLAIN).code == 0
    assert written(tmp_path / "o.npz")["tensor"].shape == (30, 6, 5)


# --- the picture


@pytest.mark.slow
@pytest.mark.parametrize(
    "request_, more",
    [
        ({"entries": True}, ("--weights", "slice", "--center", "none", "--baselines")),
        ({"shape": (1, 8)}, ("--basis-size", 12)),
    ],
)
def test_the_picture(verb, graph, tmp_path, request_, more):  # another without a truth or a history: nothing missing
    picture = tmp_path / "p.png"
    result = verb("impute", graph(**request_)[0], "--plot", picture, "--iterations", 4, *more, *CPU)
    assert result.code == 0 and f"Picture drawn in {picture}." in result.err, result
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.npz", "p.png"]


# --- Ctrl-C


@pytest.fixture
def heeded():
    """SIGINT raises KeyboardInterrupt, also if tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_leaves_no_file(verb, graph, tmp_path, monkeypatch, heeded):
    def press(self, stage, done, total, info=None):
        if done == 3:
            signal.raise_signal(signal.SIGINT)

    path, _ = graph()
    monkeypatch.setattr("gpukit.cli.report.Progress.__call__", press)
    result = verb("impute", path, "--output", tmp_path / "o.npz", "--plot", tmp_path / "p.png", *PLAIN, "--quiet")
    assert result.code == 130 and result.out == ""
    assert result.err == "Interrupted. No file was left half written.\n" and os.listdir(tmp_path) == ["g.npz"]


def test_ctrl_c_while_writing_leaves_no_half_file(verb, graph, tmp_path, monkeypatch, heeded):
    def press(file, **arrays):
        file.write(b"PK")
        signal.raise_signal(signal.SIGINT)

    path, _ = graph()
    monkeypatch.setattr(np, "savez", press)
    result = verb("impute", path, "--output", tmp_path / "o.npz", *PLAIN, "--quiet")
    assert result.code == 130 and result.err.count("\n") == 1 and os.listdir(tmp_path) == ["g.npz"]


def test_ctrl_c_after_writing_says_that_the_file_is_whole(verb, graph, tmp_path, monkeypatch, heeded):
    path, _ = graph()
    monkeypatch.setattr(steps, "evaluate", lambda *_: signal.raise_signal(signal.SIGINT))
    result = verb("impute", path, "--output", tmp_path / "o.npz", *PLAIN, "--quiet")
    assert result.code == 130 and result.err == f"Interrupted. {tmp_path / 'o.npz'} is whole.\n"
    assert "tensor" in written(tmp_path / "o.npz")


# --- real data


@pytest.mark.slow
def test_metr_la(verb, data, tmp_path):
    """Half a day of road speeds without ten of 207 sensors.

    Ids are kept, and the error is below the mean's.
    """
    lines = data("metr-la/speed.csv").read_text().splitlines()[:145]
    words = [line.split(",") for line in lines]
    for row in words[1:]:
        row[5:105:10] = [""] * 10
    (tmp_path / "speed.csv").write_text("".join(",".join(row) + "\n" for row in words))
    found = as_json(
        verb,
        "--edges",
        data("metr-la/adjacency.csv"),
        "--tensor",
        tmp_path / "speed.csv",
        "--slice",
        "6x24",
        "--weights",
        "frequency",
        "--center",
        "entry",
        "--iterations",
        8,
        "--baselines",
        "--output",
        tmp_path / "o.npz",
        *CPU,
    )
    assert (found["vertices"], found["slice"], found["missing_kind"]) == (207, [6, 24], "slices")
    assert found["confidence"]["vertices"] == [int(sensor) for sensor in words[0][5:105:10]]
    errors = {row["name"]: row["error"] for row in found["comparison"]}
    assert errors["spectral"] < errors["vertex-mean"]
    kept = np.setdiff1d(np.arange(207), np.arange(5, 105, 10))
    values = np.array([[row[i] for row in words[1:]] for i in kept], dtype=np.float64)
    assert np.array_equal(written(tmp_path / "o.npz")["tensor"][kept].reshape(len(kept), -1), values)
    assert read_graph(edges=data("metr-la/adjacency.csv"), tensor=tmp_path / "speed.csv").vertices.tolist() == [
        int(sensor) for sensor in words[0]
    ]


@pytest.mark.slow
def test_the_confidence_is_told_where_it_is_asked_for(verb, graph, tmp_path):
    path, data = graph(entries=True)
    output, named = tmp_path / "full.npz", ("--method", "vertex-mean")
    found = as_json(verb, path, *named, "--output", output)
    assert found["basis"] is found["confidence"] is None
    assert not {"confidence", "frequencies"} & set(written(output))
    found = as_json(verb, path, *named, "--output", output, "--force", "--confidence")
    assert found["basis"]["exact"] and found["seconds"]["basis"] >= 0
    lacking = ~data.mask.reshape(30, -1).all(axis=1)
    np.testing.assert_allclose(found["confidence"]["values"], written(output)["confidence"][lacking])
    output = verb("impute", path, *named, "--confidence").out
    assert "Confidence of the" in output and "Fourier basis: all" in output
    assert "Fourier" not in verb("impute", path, *named).out


@pytest.mark.slow
@pytest.mark.parametrize("cut", [(), ("--slice", "6x5")], ids=["series", "slices"])
def test_times_reach_the_fit_and_the_output(verb, arrays, tmp_path, cut):
    at, tensor = np.sort(np.random.default_rng(0).choice(10**6, 30, replace=False)), smooth(shape=(30,))
    tensor[3, 4:9] = np.nan
    (tmp_path / "times.txt").write_text("\n".join(map(str, at)))
    for given, more in (({"times": at}, ()), ({}, ("--times", tmp_path / "times.txt"))):
        path = arrays(edges=np.array(RING), tensor=tensor, **given)
        result = verb("impute", path, "--output", tmp_path / "o.npz", "--force", *cut, *more, *CPU)
        assert result.code == 0, result
        found = written(tmp_path / "o.npz")
        assert found["times"].ravel().tolist() == at.tolist()
        again = read_graph(edges=arrays(edges=np.array(RING)), tensor=tmp_path / "o.npz")
        assert again.times.ravel().tolist() == at.tolist()


@pytest.mark.slow
def test_times_of_new_readings_for_a_model(verb, arrays, tmp_path):
    tensor, model = smooth(shape=(40,)), tmp_path / "m.gpukit"
    tensor[3, 4:9] = np.nan
    (tmp_path / "times.txt").write_text("\n".join(map(str, range(1000, 1040))))
    path = arrays(edges=np.array(RING), tensor=tensor)
    first = verb("impute", path, "--times", tmp_path / "times.txt", "--save-model", model, *CPU)
    assert first.code == 0, first
    np.save(tmp_path / "new.npy", np.where(np.arange(5) == 2, np.nan, tensor[:, :5]))
    (tmp_path / "next.txt").write_text("\n".join(map(str, range(1040, 1045))))
    again = ("--times", tmp_path / "next.txt", "--model", model, "--output", tmp_path / "o.npz")
    result = verb("impute", tmp_path / "new.npy", *again, *CPU)
    assert result.code == 0, result
    assert written(tmp_path / "o.npz")["times"].tolist() == list(range(1040, 1045))


def test_times_that_do_not_fit_are_refused_in_one_line(refused, arrays, tmp_path):
    (tmp_path / "times.txt").write_text("1\n2\n3\n")
    path = arrays(edges=np.array(RING), tensor=smooth())
    line = refused("impute", path, "--times", tmp_path / "times.txt", *CPU)
    assert "times has the shape (3,); it needs one for each place of the tensor's last axis, (5,)." in line
    line = refused("impute", arrays(edges=np.array(RING), tensor=smooth(), times=np.arange(5)), "--times", path, *CPU)
    assert "has times of its own: leave times (--times) out" in line
