"""The benchmark of ranking quality on a few clicks."""

import numpy as np
import pytest

from bench.clicks.test_table10 import planted
from gpukit.bench import Conditions
from gpukit.bench import click_quality as quality
from gpukit.bench import clicks as ncf_data
from gpukit.bench.click_quality import CHOSEN, Result
from gpukit.bench.measurement import check_learned
from gpukit.device import cpu
from gpukit.errors import DataError


def make_result(hits, settings="F=4"):
    """Return the Result of users' hits at rank 1."""
    values = {"hr": np.array(hits, float), "ndcg": np.array(hits, float)}
    return Result(values, {"hr": 0.2, "ndcg": 0.1}, settings)


def test_the_rows_of_a_model():
    hit, gain = quality.quality_rows("model", [make_result([1, 0, 0, 0]), make_result([1, 1, 0, 0])], "where", "how")
    assert hit.what == "HR@10 of model" and hit.samples == [0.25, 0.5] and gain.unit == "NDCG@10"
    assert hit.note == "mean 0.3750 +- 0.1768, full ranking 0.2000; how"


def test_the_difference_is_paired_over_users():
    ours = [make_result([1] * 40 + [0] * 20)] * 2
    theirs = [make_result([1] * 20 + [0] * 40), make_result([0] * 20 + [1] * 20 + [0] * 20)]
    row = quality.difference_row("hr", ours, "iALS", theirs, "where")
    assert row.samples == [pytest.approx(1 / 3)] and "60 users" in row.note and "p 0.0001" in row.note
    same = quality.difference_row("hr", theirs, "iALS", theirs, "where")
    assert same.samples == [0.0] and "p 1," in same.note


def test_a_model_that_has_not_learned_is_an_error():
    with pytest.raises(DataError, match=r"has HR@10 0\.250, below 0\.65"):
        check_learned("iALS", 0.25, 0.65)


@pytest.mark.parametrize("larger, names", [((8,), ["iALS F=4", "iALS F=8"]), ((1,), ["iALS F=4"])])
def test_the_benchmark_runs(monkeypatch, larger, names):
    """More factors have rows if held-out clicks rank better."""
    ncf, choose = planted(), quality.choose_by_ranks

    def better_by_more(learner, clicks, device, tried):
        named, rank = choose(learner, clicks, device, tried)
        return named, rank / tried[0]["n_factors"]

    monkeypatch.setattr(ncf_data, "read", lambda folder, share: ncf)
    monkeypatch.setattr(quality, "choose_by_ranks", better_by_more)
    monkeypatch.setattr(quality, "DRAWS", range(1))
    for name, value in {
        "SIZE": {"n_factors": 4, "n_epochs": 2},
        "SEEDS": range(2),
        "LARGER": {False: larger},
    }.items():
        monkeypatch.setattr(quality, name, value)
    monkeypatch.setattr(quality, "GRID", {"unobserved_weight": (0.1, 0.3), "regularization": (0.01,)})
    rows = {row.what: row for row in quality.quality(Conditions(cpu()))}
    assert list(rows) == [f"{metric} of {name}" for name in (*names, CHOSEN) for metric in ("HR@10", "NDCG@10")] + [
        f"{metric}, {CHOSEN} less {names[-1]}" for metric in ("HR@10", "NDCG@10")
    ]
    squares = rows["HR@10 of iALS F=4"]
    assert len(squares.samples) == 2 and min(squares.samples) > 0.8 and "of 2 the best on 1 draws" in squares.note
    assert rows[f"HR@10 of {CHOSEN}"].note.count("F=") == 2
