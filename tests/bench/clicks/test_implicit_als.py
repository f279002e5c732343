"""iALS beside implicit's, on a handful of clicks; another package's part is played by ours."""

import numpy as np
import pytest

from bench.clicks.test_table10 import planted
from gpukit.bench.clicks import implicit_als, ncf_data, packages
from gpukit.bench.clicks.course import Course
from gpukit.bench.conditions import Conditions
from gpukit.device import cpu
from gpukit.errors import DataError


def test_clicks_are_held_out_among_items_that_were_not_clicked():
    ncf = planted()
    held = ncf_data.held_out(ncf)
    assert np.array_equal(np.unique(held.tests.users), np.unique(ncf.clicks.user_ids))
    assert len(held.clicks) == len(ncf.clicks) - len(held.tests.users) and held.tests.items.shape[1] == ncf_data.OTHERS
    clicked = set(zip(ncf.clicks.user_ids[ncf.clicks.users], ncf.clicks.item_ids[ncf.clicks.items]))
    kept = set(zip(held.clicks.user_ids[held.clicks.users], held.clicks.item_ids[held.clicks.items]))
    assert set(zip(held.tests.users, held.tests.clicks)) == clicked - kept
    assert not any((user, item) in clicked for user, row in zip(held.tests.users, held.tests.items) for item in row)


def told_apart(named, ncf, seed, clock):
    """A course whose quality tells its settings."""
    good = named.get("unobserved_weight", 0) == 0.3
    return Course([(0.6, 0.3), (0.7, 0.4 + 0.01 * good)], [1.0, 2.0], {}, (0.7, 0.4 + 0.01 * good, None, None))


def test_rows(monkeypatch):
    def theirs(ncf, seed, clock, **named):
        return Course([(0.5, 0.2), (0.7, 0.4)], [3.0, 6.0], {}, (0.7, 0.4, None, None))

    monkeypatch.setattr(ncf_data, "read", lambda folder, share: planted())
    monkeypatch.setattr(implicit_als.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(implicit_als.training, "least_squares", told_apart)
    monkeypatch.setattr(packages, "implicit_als", theirs)
    rows = {row.what: row for row in implicit_als.duel(Conditions(cpu()))}
    time = rows[f"CPU time of {implicit_als.OURS}, 2 epochs"]
    assert (
        time.samples == [2000.0] * implicit_als.SEEDS
        and "unobserved_weight 0.3, regularization 0.003: of 12" in time.note
    )
    assert rows[f"NDCG@10 of {implicit_als.OURS}"].samples == pytest.approx([0.41] * implicit_als.SEEDS)
    assert rows[f"CPU time of {implicit_als.THEIRS}, 2 epochs"].samples == [6000.0] * implicit_als.SEEDS
    sooner = rows[f"CPU time of {implicit_als.OURS} to the quality of {implicit_als.THEIRS}"]
    assert sooner.samples == [2000.0] * implicit_als.SEEDS and "after 2 epochs" in sooner.note
    assert rows[f"NDCG@10 of {implicit_als.THEIRS}, best of the test"].samples == [0.4]
    assert all(len(implicit_als.settings_of(name)) == 12 for name in implicit_als.GRIDS)


def test_without_the_package_there_are_no_rows(monkeypatch):
    monkeypatch.setattr(implicit_als.importlib.util, "find_spec", lambda name: None)
    assert list(implicit_als.duel(Conditions(cpu()))) == []


def test_a_quality_that_is_not_reached_has_no_time():
    better = Course([(0.8, 0.5)], [1.0], {}, (0.8, 0.5, None, None))
    lower = Course([(0.9, 0.4)], [1.0], {}, (0.9, 0.4, None, None))
    assert list(implicit_als.sooner({implicit_als.OURS: [lower], implicit_als.THEIRS: [better]}, "where")) == []


def test_what_has_not_learned_is_refused():
    with pytest.raises(DataError, match=r"comes to HR@10 0\.200, below 0\.65"):
        implicit_als.check({implicit_als.OURS: [Course([(0.2, 0.1)], [1.0], {}, (0.2, 0.1, None, None))]})


def test_ours_learns(monkeypatch):
    ticks = iter(range(1000))
    found = implicit_als.training.least_squares({"n_factors": 4, "n_epochs": 3}, planted(), 0, lambda: next(ticks))
    assert found.times == [1, 2, 3] and found.final[0] > 0.9
