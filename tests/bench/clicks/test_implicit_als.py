"""The comparison of iALS with implicit, whose part a fake plays, on a few clicks."""

import numpy as np
import pytest

from bench.clicks.test_table10 import planted
from gpukit.bench import Conditions
from gpukit.bench import click_quality as quality
from gpukit.bench import clicks as ncf_data
from gpukit.bench.clicks import LearningCurve
from gpukit.device import cpu
from gpukit.errors import DataError


def list_pairs(ratings):
    """Return the set of (user id, item id)."""
    return set(zip(ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]))


def test_clicks_are_held_out_among_items_that_were_not_clicked():
    ncf = planted()
    held_out = ncf_data.hold_out(ncf)
    clicks, tests = held_out.clicks, held_out.tests
    assert np.array_equal(np.unique(tests.users), np.unique(ncf.clicks.user_ids))
    assert len(clicks) == len(ncf.clicks) - len(tests.users) and tests.items.shape[1] == 99
    clicked = list_pairs(ncf.clicks)
    assert set(zip(tests.users, tests.clicks)) == clicked - list_pairs(clicks)
    assert not any((user, item) in clicked for user, row in zip(tests.users, tests.items) for item in row)


def fake_ials(parameters, ncf, seed, clock):
    """Return a curve whose quality depends on the parameters."""
    good = parameters.get("unobserved_weight", 0) == 0.3
    return LearningCurve([(0.6, 0.3), (0.7, 0.4 + 0.01 * good)], [1.0, 2.0], {}, (0.7, 0.4 + 0.01 * good, None, None))


def test_rows(monkeypatch):
    def fake_implicit(ncf, seed, clock, **parameters):
        return LearningCurve([(0.5, 0.2), (0.7, 0.4)], [3.0, 6.0], {}, (0.7, 0.4, None, None))

    monkeypatch.setattr(ncf_data, "read", lambda folder, share: planted())
    monkeypatch.setattr(quality.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(ncf_data, "train_ials", fake_ials)
    monkeypatch.setattr(ncf_data, "train_implicit", fake_implicit)
    rows = {row.what: row for row in quality.implicit(Conditions(cpu()))}
    time = rows[f"CPU time of {quality.OURS}, 2 epochs"]
    assert (
        time.samples == [2000.0] * len(quality.SEEDS)
        and "unobserved_weight 0.3, regularization 0.003: of 12" in time.note
    )
    assert rows[f"NDCG@10 of {quality.OURS}"].samples == pytest.approx([0.41] * len(quality.SEEDS))
    assert rows[f"CPU time of {quality.THEIRS}, 2 epochs"].samples == [6000.0] * len(quality.SEEDS)
    sooner = rows[f"CPU time of {quality.OURS} to the quality of {quality.THEIRS}"]
    assert sooner.samples == [2000.0] * len(quality.SEEDS) and "after 2 epochs" in sooner.note
    assert rows[f"NDCG@10 of {quality.THEIRS}, best of the test"].samples == [0.4]
    assert all(len(ncf_data.list_grid(grid)) == 12 for grid in quality.GRIDS.values())


def test_without_the_package_there_are_no_rows(monkeypatch):
    monkeypatch.setattr(quality.importlib.util, "find_spec", lambda name: None)
    assert list(quality.implicit(Conditions(cpu()))) == []


def test_a_quality_that_is_not_reached_has_no_time():
    better = LearningCurve([(0.8, 0.5)], [1.0], {}, (0.8, 0.5, None, None))
    lower = LearningCurve([(0.9, 0.4)], [1.0], {}, (0.9, 0.4, None, None))
    assert list(quality.equal_quality_rows({quality.OURS: [lower], quality.THEIRS: [better]}, "where")) == []


def test_a_model_that_has_not_learned_is_an_error():
    with pytest.raises(DataError, match=r"has HR@10 0\.200, below 0\.65"):
        quality.check_curves({quality.OURS: [LearningCurve([(0.2, 0.1)], [1.0], {}, (0.2, 0.1, None, None))]})


def test_ours_learns(monkeypatch):
    ticks = iter(range(1000))
    curve = ncf_data.train_ials({"n_factors": 4, "n_epochs": 3}, planted(), 0, lambda: next(ticks))
    assert curve.times == [1, 2, 3] and curve.final[0] > 0.9
