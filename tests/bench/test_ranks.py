"""Two processes compared with one: rows and their notes."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpukit import bench, device
from gpukit.bench import Conditions, ranks, ratings
from gpukit.bench.measurement import Curve
from gpukit.errors import GpukitError

CPU = device.resolve("cpu")


@pytest.mark.nightly
def test_rows_of_two_ranks(capfd):
    rows = list(bench.find("ranks")(Conditions(CPU, ("netflix", "mslr-web30k"), 0.0002)))
    assert [row.what for row in rows if row.what.startswith("one ")] == [
        "one epoch CUSGD++ F=32, 2 ranks",
        "one epoch CUSGD++ F=128, 2 ranks",
        "one epoch CULSH-MF F=32 K=32, 2 ranks",
        "one product with the Hessian in float64, answer on the host, 2 ranks",
    ]
    for row in rows:
        assert np.isfinite(row.samples).all() and min(row.samples) > 0 and "one rank" in row.note
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    "name, gpus, expected",
    [
        ("cpu", 8, [2]),
        ("cuda", 1, [2]),
        ("cuda", 2, [2]),
        ("cuda", 3, [2]),
        ("cuda", 4, [2, 4]),
        ("cuda", 8, [2, 4, 8]),
    ],
)
def test_numbers_of_ranks_are_powers_of_two(name, gpus, expected, monkeypatch, tmp_path):
    """Two ranks on one GPU are tried as well, and fail with a message."""
    monkeypatch.setattr(ranks, "gpu_count", lambda: gpus)
    calls, device = [], SimpleNamespace(is_cuda=name == "cuda")
    monkeypatch.setattr(ranks, "make_rank_settings", lambda size, is_cuda: None)
    monkeypatch.setattr(ranks, "launch", lambda words, size, *_: calls.append((size, *words)))
    (tmp_path / "entries.json").write_text('[["a step", [1.0], "a note"]]')
    assert ranks.list_sizes(device) == expected
    rows = list(ranks.run_ranks(Conditions(device), "ranking", tmp_path, "netflix", 1.0))
    assert calls == [(size, "ranking", str(tmp_path), "netflix", "1.0", name) for size in expected]
    assert [row.what for row in rows] == [f"a step, {size} ranks" for size in expected] and rows[0].note == "a note"


def test_ranks_that_fail_are_an_error(monkeypatch):
    monkeypatch.setattr(ranks, "COMMAND", "raise SystemExit(3)")
    with pytest.raises(GpukitError, match="ranks failed in factorization"):
        list(bench.find("ranks")(Conditions(CPU, ("netflix",), 0.0001)))


@pytest.mark.parametrize(
    "errors, target, expected",
    [([3.0, 2.0, 1.0], 1.5, 25.0), ([3.0, 2.0], 2.0, 20.0), ([1.0, 2.0], 1.5, 10.0), ([3.0, 2.0], 1.0, None)],
)
def test_time_to_a_target_is_interpolated(errors, target, expected):
    assert ranks.time_to(Curve(errors, [0.01, 0.02, 0.03], {}), target) == expected


@pytest.mark.parametrize("like, target", [("netflix", 2.001), ("yahoo", 2.026)])
def test_close_is_in_stars_on_any_scale(like, target):
    assert 2.0 + ratings.convert_stars(like, ratings.CLOSE) == pytest.approx(target)
    single = ranks.Trainings([Curve([3.0, 2.0], [0.01, 0.02], {})] * 3, [1.0])
    *_, (_, samples, note) = ranks.make_entries("x", single, single, target)
    assert note.startswith(f"to RMSE {target:.4f}") and samples[0] == pytest.approx(30 - 10 * target + 10)


def test_the_median_training_counts():
    """All times to a target are samples; there is no time if one training does not reach it."""
    curves = [Curve([3.0, low, last], [0.001, 0.002, 0.003], {}) for low, last in ((2, 2.5), (1, 2.2), (1.5, 4))]
    trainings = ranks.Trainings(curves, [1.0])
    assert (trainings.last, trainings.lowest) == (2.5, 1.5)
    assert trainings.times_to(2.5) == pytest.approx([1.5, 1.25, 4 / 3]) and trainings.times_to(1.2) is None
    rows = ranks.make_entries("x", trainings, trainings, 2.5)
    assert [what for what, *_ in rows] == ["one epoch x", "time to converge x"] and len(rows[1][1]) == 3
    assert len(ranks.make_entries("x", trainings, trainings, 1.2)) == 1
