"""The first run of a command: what is compiled ahead, and that this is said once."""

import numpy as np
import pytest

from gpukit.compilation import helpers


@pytest.fixture
def begun(monkeypatch):
    """The calls of helpers.begin, all of them first ones: (jobs, alone)."""
    calls = []
    monkeypatch.setattr(helpers, "begin", lambda *jobs, alone: calls.append((jobs, alone)) or True)
    return calls


@pytest.mark.parametrize("kind", ["ratings", "clicks"])
def test_what_both_kinds_need_and_then_the_rest_of_one(verb, begun, tmp_path, kind):
    rng = np.random.default_rng(0)
    rows = {(user, item): rng.integers(1, 6) for user in range(20) for item in rng.choice(15, 8, False).tolist()}
    lines = [f"{user},{item}" + f",{value}" * (kind == "ratings") for (user, item), value in rows.items()]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    words = "--device", "cpu", "--factors", "2", "--epochs", "1", "--no-neighbors"
    done = verb("train-lshmf", tmp_path / "data.csv", *words)
    assert done.code == 0, done.err
    assert begun == [(("ratings", "clicks"), True), ((kind,), True)]
    assert done.err.count("The first run compiles gpukit's code") == 1
