"""The first runs of commands, each with a folder of its own for compiled code."""

import os

from gpukit.bench import Conditions, first_run
from gpukit.device import cpu


def test_each_first_run_has_an_empty_cache_and_each_second_one_the_same(tmp_path, monkeypatch):
    runs = []
    monkeypatch.setattr(first_run, "run", lambda words: runs.append((words[0], os.environ.get("GPUKIT_CACHE"))))
    (tmp_path / "ml-1m").mkdir()
    (tmp_path / "ml-1m" / "ratings.dat").touch()
    (tmp_path / "MQ2008").mkdir()
    rows = list(first_run.first_run(Conditions(cpu(), data=tmp_path)))
    assert [row.what.split(" run of ")[0] for row in rows] == ["the first", "the second"] * 3
    assert all(len(row.samples) == first_run.SAMPLES for row in rows)
    timed = runs[1:]
    folders = [folder for _, folder in timed]
    assert folders[::2] == folders[1::2] and len(set(folders)) == len(timed) // 2 == 3 * first_run.SAMPLES
    assert [name for name, _ in timed[:: 2 * first_run.SAMPLES]] == ["train-lshmf", "ranksvm", "impute"]
