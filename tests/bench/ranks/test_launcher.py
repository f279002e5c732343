"""Two processes beside one: every row, and a note that tells of one."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpukit import bench, device
from gpukit.bench import ratings
from gpukit.bench.conditions import Conditions
from gpukit.bench.ranks import launcher, worker
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
def test_as_many_ranks_as_there_are_gpus(name, gpus, expected, monkeypatch):
    """Powers of two; of one GPU two are asked for, and refused in a line."""
    monkeypatch.setattr(launcher, "gpu_count", lambda: gpus)
    asked, place = [], SimpleNamespace(is_cuda=name == "cuda")
    monkeypatch.setattr(launcher, "told", lambda conditions, like, size, *work: [asked.append((like, size, *work))])
    assert launcher.sizes(place) == expected
    list(launcher.told_by_all(SimpleNamespace(device=place), "netflix", "ranking", "folder"))
    assert asked == [("netflix", size, "ranking", "folder") for size in expected]


def test_ranks_that_fail_are_told(monkeypatch):
    monkeypatch.setattr(launcher, "COMMAND", "raise SystemExit(3)")
    with pytest.raises(GpukitError, match="ranks failed at factorization"):
        list(bench.find("ranks")(Conditions(CPU, ("netflix",), 0.0001)))


@pytest.mark.parametrize(
    "errors, target, expected",
    [([3.0, 2.0, 1.0], 1.5, 25.0), ([3.0, 2.0], 2.0, 20.0), ([1.0, 2.0], 1.5, 10.0), ([3.0, 2.0], 1.0, None)],
)
def test_time_to_a_target_is_read_between_epochs(errors, target, expected):
    assert worker.reached(errors, np.array([10.0, 20.0, 30.0]), target) == expected


@pytest.mark.parametrize("like, target", [("netflix", 2.001), ("yahoo", 2.026)])
def test_close_is_so_much_of_a_star_on_any_scale(like, target):
    assert 2.0 + ratings.stars(like, ratings.CLOSE) == pytest.approx(target)
    alone = worker.Trained([worker.Curve([3.0, 2.0], np.array([10.0, 20.0]))] * 3, [1.0])
    *_, row = worker.rows_of("x", alone, alone, target)
    assert row["note"].startswith(f"to RMSE {target:.4f}") and row["samples"][0] == pytest.approx(30 - 10 * target + 10)


def test_the_training_in_the_middle_counts():
    """Of what trainings end at and come down to; all of the times are told, none where one does not come to it."""
    curves = [worker.Curve([3.0, low, last], np.array([1.0, 2.0, 3.0])) for low, last in ((2, 2.5), (1, 2.2), (1.5, 4))]
    trained = worker.Trained(curves, [1.0])
    assert (trained.last, trained.lowest) == (2.5, 1.5)
    assert trained.reached(2.5) == pytest.approx([1.5, 1.25, 4 / 3]) and trained.reached(1.2) is None
    rows = worker.rows_of("x", trained, trained, 2.5)
    assert [row["what"] for row in rows] == ["one epoch x", "time to converge x"] and len(rows[1]["samples"]) == 3
    assert len(worker.rows_of("x", trained, trained, 1.2)) == 1
