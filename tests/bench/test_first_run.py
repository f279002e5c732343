"""The first runs of commands, each with a folder of its own for compiled code."""

import itertools
import os

from gpukit.bench import Conditions, process
from gpukit.device import cpu


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
