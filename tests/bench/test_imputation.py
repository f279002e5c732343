"""The benchmarks of the imputation on the CPU: each has rows, and fails on a wrong result."""

import numpy as np
import pytest
from imputation import naive_baselines as naive

from gpukit import bench, device
from gpukit.bench import Conditions, imputation, measurement, recovery
from gpukit.bench.imputation import Shape
from gpukit.errors import DataError
from gpukit.graphs.adjacency import as_adjacency
from gpukit.imputation.auto.plan import BY_NAME

CPU = device.resolve("cpu")
RING = np.roll(np.eye(20), 1, axis=1) + np.roll(np.eye(20), -1, axis=1)


def rows_of(name, **conditions):
    """Return the rows of a benchmark after a check of their form."""
    rows = list(bench.find(name)(Conditions(CPU, **conditions)))
    for row in rows:
        assert row.samples and np.isfinite(row.samples).all() and min(row.samples) >= 0 and row.note
        assert row.data in ("generated", "real graph", "real") and len(measurement.line(row, CPU)) == len(
            measurement.COLUMNS
        )
    assert len({(row.what, row.shape) for row in rows}) == len(rows)  # the key of the table
    return rows


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    """Use small shapes, and a cache of bases for each test."""
    monkeypatch.setattr("gpukit.graphs.basis.cache_folder", lambda: tmp_path / "bases")
    monkeypatch.setattr(imputation, "SHAPES", {"ego-facebook": Shape(60, 8), "64x64x2100": Shape(40, 8)})
    monkeypatch.setattr(imputation, "SHARES", (0.2, 0.4))
    monkeypatch.setattr(recovery, "SEEDS", range(2))
    monkeypatch.setattr(recovery, "WEEK", (2, 24))


@pytest.fixture
def case():
    return imputation.make_case("64x64x2100", Conditions(CPU, data=None))


@pytest.fixture
def folder(tmp_path):
    """A ring of sensors in place of METR-LA, and a list of edges in place of ego-Facebook's."""
    (tmp_path / "metr-la").mkdir()
    (tmp_path / "ego-Facebook").mkdir()
    angle, hours = np.arange(20)[:, None] / 20 * 2 * np.pi, np.arange(np.prod(recovery.WEEK))
    speeds = 50 + 8 * np.sin(angle + hours / 9) + np.random.default_rng(0).normal(size=(20, len(hours)))
    header = ",".join(map(str, range(20)))
    np.savetxt(tmp_path / "metr-la" / "speed.csv", speeds.T, "%.4f", ",", header=header, comments="")
    np.savetxt(tmp_path / "metr-la" / "adjacency.csv", RING, "%g", ",")
    (tmp_path / "molene").mkdir()
    for name, table in (("temperature", speeds.T), ("adjacency", RING)):
        labelled = np.column_stack([np.arange(len(table)), table])
        np.savetxt(tmp_path / "molene" / f"{name}.csv", labelled, "%.4f", ",", header=f",{header}", comments="")
    np.savetxt(tmp_path / "ego-Facebook" / "facebook_combined.txt", np.argwhere(np.triu(RING)), "%d")
    return str(tmp_path)


@pytest.mark.slow
def test_whole_runs_of_every_shape():
    rows = rows_of("impute-speed", data=None)
    assert [row.what for row in rows if row.shape == "ego-facebook 8x8"] == [
        "20 iterations, basis cached",
        "20 iterations, basis computed",
        "iterations by default, basis cached",
        "20 iterations by a loop over numpy.linalg.svd",
        "the loop over numpy.linalg.svd against gpukit",
    ]
    assert [row.unit for row in rows if row.shape == "64x64x2100"] == ["s", "s", "times"]
    assert rows[0].note.endswith("; the paper: 6.75 s, RTX6000")
    ours, loop, times = (
        next(row for row in rows if row.what == what)
        for what in (
            rows[0].what,
            "20 iterations by a loop over numpy.linalg.svd",
            "the loop over numpy.linalg.svd against gpukit",
        )
    )
    assert times.samples[0] == pytest.approx(loop.samples[0] / np.median(ours.samples))


def test_the_real_graph_is_read_if_it_exists(folder):
    adjacency, data = imputation.make_graph("ego-facebook", Conditions(CPU, data=folder), 60)
    assert data == "real graph" and np.array_equal(adjacency.toarray(), RING)
    for conditions in (Conditions(CPU), Conditions(CPU, data="nowhere"), Conditions(CPU, (), 0.5, folder)):
        adjacency, data = imputation.make_graph("ego-facebook", conditions, 60)
        assert data == "generated" and adjacency.shape == (60, 60)
    assert imputation.make_graph("64x64x2100", Conditions(CPU, data=folder), 60)[1] == "generated"


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["impute-metr-la", "impute-molene"])
def test_rows_of_sensors(folder, name):
    rows = rows_of(name, data=folder)
    names = ["defaults", *(f"{one}, best setting" for one in recovery.METHODS if one in BY_NAME)]
    names += [f"{one}, best setting" for one in ("vertex mean", "Tikhonov", "Tikhonov, normalized")]
    lacking = {f"{one}, best setting" for one in ("smoothness", "regularized-em")}
    lacking |= {"seasonal, best setting"} if name == "impute-molene" else set()
    parts = [row.what.partition(" missing: ") for row in rows]
    for what in recovery.HIDDEN.values():
        labels = [label for kind, _, label in parts if kind == what]
        assert labels[0] == "defaults" and {"interpolation, best setting", "kriging, best setting"} <= set(labels)
        assert set(names) - lacking <= set(labels) and "90 % intervals" in labels
    assert " 2 seeds" in rows[0].note or " 4 seeds" in rows[0].note
    assert {row.data for row in rows} == {"real"}
    covered = [row.samples for row in rows if row.what.endswith("90 % intervals")]
    assert 0.75 < np.mean(np.concatenate(covered)) < 0.99


@pytest.mark.parametrize("whole", [True, False])
def test_baselines_on_graphs(whole):
    rng = np.random.default_rng(3)
    A = np.triu(rng.random((14, 14)) * (rng.random((14, 14)) < 0.25), 1)
    A[np.arange(12), np.arange(1, 13)] += 0.5  # vertex 13 may be isolated
    A = A + A.T
    tensor, mask = rng.normal(50.0, 1.0, (14, 3, 2)), rng.random(14 if whole else (14, 3, 2)) > 0.35
    mask[:2] = True
    observed = naive.whole(mask, tensor.shape)
    mean = naive.mean(tensor, mask, "entry")
    results = {(name, how): out for name, how, out in recovery.baselines(as_adjacency(A), tensor, mask)}
    assert ("last-value", "") in results or whole
    np.testing.assert_allclose(results["vertex mean", ""], np.broadcast_to(mean, tensor.shape))
    for name, form in (("Tikhonov", naive.laplacian), ("Tikhonov, normalized", naive.normalized_laplacian)):
        expected = naive.tikhonov(form(A), tensor - mean, mask, 0.3) + mean
        np.testing.assert_allclose(results[name, "tau 0.3"][~observed], expected[~observed], atol=1e-6)
    expected = naive.feature_propagation(A, tensor - mean, mask, 5) + mean
    np.testing.assert_allclose(results["feature propagation", "iterations 5"], expected)


def test_hidden_values():
    sensors = recovery.Sensors("", "", None, np.zeros((20, 5, 50), np.float32), (12, 12), range(1))
    assert recovery.hide(sensors, "sensors", 0).sum() == 16
    assert recovery.hide(sensors, "readings", 0).mean() == pytest.approx(0.8, abs=0.02)
    blocks = ~recovery.hide(sensors, "blocks", 0).reshape(20, -1)
    runs = np.diff(np.flatnonzero(np.diff(np.pad(blocks, 1).ravel().astype(int))))[::2]
    assert {1, 12} <= set(runs) and 0.05 < blocks.mean() < 0.12


def test_the_score_of_a_normal_distribution():
    """Against an integral of squared differences of distributions."""
    from scipy import stats

    x, y, size = np.linspace(-40, 40, 80_001), 1.3, 2.0
    expected = np.square(stats.norm.cdf(x, scale=size) - (x >= y)).sum() * (x[1] - x[0])
    assert recovery.crps(np.array([y]), np.array([size])) == pytest.approx(expected, rel=1e-3)


def test_real_sensors_must_exist(tmp_path):
    for nowhere in (None, str(tmp_path)):
        for rows in (recovery.impute_metr_la, recovery.impute_molene):
            with pytest.raises(DataError, match="GPUKIT_DATA"):
                next(rows(Conditions(CPU, data=nowhere)))


def test_wrong_steps_are_an_error(case, monkeypatch):
    imputation.check_steps(case)
    with monkeypatch.context() as patch:
        patch.setattr(imputation, "PAPER_OPTIONS", imputation.PAPER_OPTIONS._replace(decay=0.701))
        with pytest.raises(DataError, match="estimate after a few steps has"):
            imputation.check_steps(case)
    session = imputation.fitted_session(case, imputation.PAPER_OPTIONS)
    assert 0 < imputation.check_recovered(case, session) < 0.3
    with pytest.raises(DataError, match="estimate has a relative error"):
        imputation.check_recovered(case, session, most=1e-4)
    session.now[:] = 0
    with pytest.raises(DataError, match="estimate has a relative error"):
        imputation.check_recovered(case, session)


def test_wrong_tensors_are_an_error(case):
    graph = case.graph
    recovery.check_observed(graph.truth, graph.tensor, graph.mask)
    with pytest.raises(DataError, match="differs from the observed"):
        recovery.check_observed(graph.truth * np.float32(1.001), graph.tensor, graph.mask)
    methods = [{"defaults": (2.0, ""), "vertex mean": (3.0, "")}, {"defaults": (3.5, ""), "vertex mean": (3.0, "")}]
    with pytest.raises(DataError, match="sensors of seed 1 is 3.5; the mean's is 3"):
        recovery.check_best(methods, "sensors")


@pytest.mark.nightly
def test_a_step_over_ranks():
    """Ranks are processes, on a fraction of the shape."""
    (row,) = rows_of("ranks", scale=0.01, shapes=("64x64x2100",))
    assert row.unit == "ms" and row.what.endswith(", 2 ranks") and "HostTransport" in row.note
