"""docs/tour.md: every command in it runs."""

import shlex
import shutil

import pytest


@pytest.mark.slow
def test_the_tour(root, tmp_path, verb, monkeypatch):
    shutil.copytree(root / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    lines = [line.strip() for line in (root / "docs" / "tour.md").read_text().splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("gpukit ")]
    assert len(commands) > 8
    for command in commands:
        result = verb(*command)
        assert result.code == 0, (command, result)
    files = {
        "my.gpukit",
        "recommendations.csv",
        "predictions.csv",
        "factors.npz",
        "vectors.csv",
        "clicks.gpukit",
        "rank.gpukit",
        "path.png",
        "test.scores",
        "full.npz",
        "imputed.png",
        "part.npz",
    }
    assert files <= {path.name for path in tmp_path.iterdir()}
