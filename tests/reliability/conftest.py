"""Shared fixtures of the reliability tests. GPUKIT_ROUNDS repeats them more often: make reliability."""

import os
import subprocess
import sys

import pytest
from cli_support import planted, write_rows

from reliability.verbs import arguments

PATIENCE = 3000 if "GPUKIT_ROUNDS" in os.environ else 280  # seconds, including compilation


@pytest.fixture(scope="session")
def rounds():
    """Return rounds(few) -> number of repeats: few by default, or GPUKIT_ROUNDS."""
    return lambda few: int(os.environ.get("GPUKIT_ROUNDS", few))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with small inputs of every kind: r.csv, new.csv, d.txt, g.npz, and the models m.gpukit, rank.gpukit."""
    import gpukit
    from gpukit.cli.main import run
    from gpukit.documents import write_letor
    from gpukit.graphs import write_graph

    folder = tmp_path_factory.mktemp("inputs")
    write_rows(folder / "r.csv", zip(*planted()))
    users, items, values = planted(seed=1)
    write_rows(folder / "new.csv", zip(users + 30, items + 5, values))
    write_letor(gpukit.synth_letor("mq2008", 0.02), folder / "d.txt")
    write_graph(folder / "g.npz", gpukit.synth_graph(vertices=20, shape=(4, 5), rank=2))
    for name, model in (("train-lshmf --model", "m.gpukit"), ("ranksvm --model", "rank.gpukit")):
        assert run([*arguments(name, folder, folder / model), "--quiet"]) == 0
    return folder


@pytest.fixture(scope="session")
def python():
    """Return python(script, *arguments, **environment) -> the finished process of a script in this folder."""

    def run(script, *arguments, **environment):
        command = [sys.executable, "-P", os.path.join(os.path.dirname(__file__), script), *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, **environment}
        )

    return run
