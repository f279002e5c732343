"""Rows of the benchmark table."""

import csv
import importlib

from gpukit import bench
from gpukit.bench import record


def test_a_row_has_percentiles_and_is_appended_under_one_heading(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUKIT_COMMIT", "abc1234")
    row = record.Row("a step", "netflix", "generated", [1.0, 2.0, 3.0, 4.0, 5.0], "ms", "a remark, with a comma")
    for _ in range(2):
        record.append(tmp_path / "b.csv", [record.line(row, "cpu")])
    with open(tmp_path / "b.csv", newline="") as file:
        heading, *lines = list(csv.reader(file))
    assert tuple(heading) == record.COLUMNS and len(lines) == 2
    found = dict(zip(heading, lines[0]))
    assert (found["p20"], found["p50"], found["p80"], found["samples"]) == ("1.8", "3", "4.2", "5")
    assert found["commit"] == "abc1234" and found["note"] == "a remark, with a comma" and "numba" in found["versions"]


def test_benches_are_those_of_the_command():
    for file, names in bench.FILES.items():
        assert tuple(importlib.import_module(f"gpukit.bench.{file}").BENCHES) == names
    assert [bench.find(name).__name__ for name in ("epochs", "lengths")] == ["epochs", "lengths"]
    assert len(set(bench.NAMES)) == len(bench.NAMES)
