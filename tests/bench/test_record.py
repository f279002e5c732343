"""Rows of the benchmark table."""

import csv
import subprocess

import numpy as np
import pytest

from gpukit import bench, device
from gpukit.bench import Conditions, measurement, sorting
from gpukit.errors import DataError


def test_a_row_has_percentiles_and_is_appended_under_one_heading(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUKIT_COMMIT", "abc1234")
    sample = measurement.Row(
        "a step", "netflix", "generated", [1.0, 2.0, 3.0, 4.0, 5.0], "ms", "a remark, with a comma"
    )
    for _ in range(2):
        measurement.append(tmp_path / "b.csv", [measurement.line(sample, "cpu")])
    with open(tmp_path / "b.csv", newline="") as file:
        heading, *lines = list(csv.reader(file))
    assert tuple(heading) == measurement.COLUMNS and len(lines) == 2
    row = dict(zip(heading, lines[0]))
    assert (row["p20"], row["p50"], row["p80"], row["samples"]) == ("1.8", "3", "4.2", "5")
    assert row["commit"] == "abc1234" and row["note"] == "a remark, with a comma" and "numba" in row["versions"]


def test_every_benchmark_exists():
    assert all(callable(bench.find(name)) for name in bench.NAMES)
    assert [bench.find(name).__name__ for name in ("epochs", "out-of-core")] == ["epochs", "out_of_core"]


@pytest.mark.slow
def test_the_sorting_benchmarks_run():
    conditions = Conditions(device.resolve("cpu"), scale=0.002)
    rows = list(bench.find("sorting")(conditions))
    assert [row.what for row in rows] == ["segmented sort float32", "segmented sort float64"]
    assert rows[0].shape == "mslr-web30k x 0.002"
    assert len([*bench.find("orders")(conditions)]) == 5 * len(sorting.ORDERS)


def test_the_sorting_benchmarks_check_their_result():
    keys, offsets = np.array([2.0, 1.0, 1.0]), np.array([0, 1, 3])
    sorting.check(keys, offsets, np.array([0, 0, 1]))
    with pytest.raises(DataError, match="segment 1 was not"):
        sorting.check(keys, offsets, np.array([0, 1, 0]))


def test_the_segments_have_the_shape_of_web30k():
    sizes, shape = np.diff(sorting.web30k_offsets(1)), sorting.SHAPES["mslr-web30k"]
    assert len(sizes) == shape.queries and sizes.max() == shape.longest and sizes.min() >= 1
    assert abs(sizes.sum() / shape.documents - 1) < 0.01


def test_rows_that_were_added_before_do_not_change_the_commit(tmp_path, monkeypatch):
    monkeypatch.delenv("GPUKIT_COMMIT", raising=False)
    monkeypatch.setattr(measurement, "__file__", str(tmp_path / "bench" / "measurement.py"))
    code, table = tmp_path / "bench" / "measurement.py", tmp_path / "docs" / "benchmarks.csv"
    for path in (code, table):
        path.parent.mkdir()
        path.write_text("1")
    user = "-c", "user.name=a", "-c", "user.email=a@b"
    for words in (("init", "-q"), ("add", "."), (*user, "commit", "-qm", "first")):
        subprocess.run(["git", "-C", tmp_path, *words], check=True)
    clean = measurement.commit()
    table.write_text("2")
    assert len(clean) >= 7 and measurement.commit() == clean
    code.write_text("2")
    assert measurement.commit() == clean + "+"
