"""The first runs of commands, each with a folder of its own for compiled code, and whole commands."""

import itertools
import os

import pytest

from gpukit.bench import Conditions, process
from gpukit.device import cpu
from gpukit.errors import GpukitError


def test_each_first_run_has_an_empty_cache_and_each_second_one_the_same(tmp_path, monkeypatch):
    runs = []
    monkeypatch.setattr(process, "run", lambda words: runs.append((words[0], os.environ.get("GPUKIT_CACHE"))))
    (tmp_path / "ml-1m").mkdir()
    (tmp_path / "ml-1m" / "ratings.dat").touch()
    (tmp_path / "MQ2008").mkdir()
    rows = list(process.first_run(Conditions(cpu(), data=tmp_path)))
    assert [row.what.split(" run of ")[0] for row in rows] == ["the first", "the second"] * 4
    assert all(len(row.samples) == process.SAMPLES for row in rows)
    names, folders = zip(*runs[1:])
    each = [("train-lshmf",) * 2, ("train-lshmf", "recommend", "recommend"), ("ranksvm",) * 2, ("impute",) * 2]
    assert names == tuple(name for sample in each for _ in range(process.SAMPLES) for name in sample)
    assert len(set(folders)) == len(each) * process.SAMPLES
    assert [len(list(sample)) for _, sample in itertools.groupby(folders)] == [2] * 3 + [3] * 3 + [2] * 6


def test_whole_commands_run_once_before_they_are_timed(monkeypatch):
    runs = []
    monkeypatch.setattr(process, "run", lambda words, folder: runs.append((words[0], folder)))
    for scale in (0.01, 1.0):
        runs.clear()
        rows = list(process.commands(Conditions(cpu(), scale=scale)))
        assert [row.what for row in rows] == [f"the whole command {command}, cached" for command, *_ in process.WHOLE]
        assert all(("; goal " in row.note) == (scale == 1) == ("x 0.01" not in row.shape) for row in rows)
        assert all(len(row.samples) == process.SAMPLES for row in rows)
    each = [command.split()[0] for command, *_ in process.WHOLE for _ in range(1 + process.SAMPLES)]
    assert [name for name, _ in runs] == [*["synth"] * 3, *each] and len({folder for _, folder in runs}) == 1


@pytest.mark.nightly
def test_whole_commands_of_little_data_succeed(monkeypatch):
    monkeypatch.setattr(process, "SAMPLES", 1)
    rows = list(process.commands(Conditions(cpu(), scale=0.001)))
    assert len(rows) == len(process.WHOLE) and all(min(row.samples) > 0 for row in rows)


def test_the_message_of_a_command_that_fails_is_reported(tmp_path):
    with pytest.raises(GpukitError, match=r"gpukit convert nowhere\.csv out\.gkr --quiet failed: Error: .*nowhere"):
        process.run(["convert", "nowhere.csv", "out.gkr"], tmp_path)
