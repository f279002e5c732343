"""gpukit bench: messages of benchmarks that measure nothing."""

import pytest

from gpukit.bench import NAMES
from gpukit.bench.record import Row
from gpukit.cli import bench

ROW = Row("sorting", "random", "generated", [1.0, 2.0, 3.0], "ms", "a note")


@pytest.fixture
def measuring(monkeypatch, verb):
    """Return run(names, *words): bench where only these benchmarks have rows."""

    def run(measured, *words):
        monkeypatch.delenv("GPUKIT_DATA", raising=False)
        monkeypatch.setattr(bench, "find", lambda name: lambda conditions: [ROW] if name in measured else [])
        return verb("bench", "--device", "cpu", *words)

    return run


def test_each_benchmark_that_measures_nothing_reports_why(measuring):
    result = measuring({"sort"} if "sort" in NAMES else {NAMES[0]})
    assert result.code == 0 and len(result.out.splitlines()) == 1
    lines = result.err.splitlines()
    assert len(lines) == len(NAMES) - 1 and all("measured nothing: it needs a GPU" in line for line in lines)


def test_a_run_that_measures_nothing_at_all_fails(measuring):
    result = measuring(set())
    assert result.code == 2 and not result.out
    assert result.err.splitlines()[-1].startswith(f"Error: no benchmark of {len(NAMES)} measured anything: it")


def test_a_named_benchmark_that_measures_nothing_fails_after_the_others(measuring):
    result = measuring({NAMES[0]}, NAMES[0], NAMES[1], "--shape", "netflix")
    assert result.code == 2 and len(result.out.splitlines()) == 1
    assert result.err.startswith(f"Error: bench {NAMES[1]} measured nothing: it has no shape netflix")
