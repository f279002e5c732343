"""The benchmark of similarity on planted ratings."""

import numpy as np
import pytest
from factorization.inputs import make, planted

from gpukit.bench import Conditions, recommendations
from gpukit.device import cpu
from gpukit.factorization import LSHMF


@pytest.fixture(scope="module")
def parts():
    """A fitted model, its ratings and held-out ratings."""
    train, test = recommendations.split(planted(n_users=80, n_items=40), 0)
    return make(LSHMF).fit(train), train, test


@pytest.mark.parametrize("side", ["item", "user"])
def test_gains_are_residuals_of_held_out_ratings(parts, side):
    model, train, test = parts
    judge, deviation = recommendations.make_judge(model, train, test, side), model._scale.deviation
    baseline = model.mean_ + model.user_baseline_[:, None] + model.item_baseline_[None]
    learned, held = np.zeros(train.shape), np.zeros(train.shape)
    learned[train.users, train.items] = (train.values - baseline[train.users, train.items]) / deviation
    held[test.users, test.items] = (test.values - baseline[test.users, test.items]) / deviation
    learned, held = (learned, held) if side == "item" else (learned.T, held.T)
    for one, other in ((0, 3), (5, 1), (7, 7)):
        assert judge.gains[one, other] == pytest.approx(held[learned[:, one] > 0, other].sum(), abs=1e-4)
    liked = sum((held[learned[:, one] > 0] > 0).sum() for one in range(learned.shape[1]))
    assert judge.liked == liked and judge.rows.tolist() == list(range(learned.shape[1]))
    first = judge.gain(lambda row: -np.arange(learned.shape[1]))
    wanted = sum(np.delete(gains, row)[:10].sum() for row, gains in enumerate(judge.gains))
    assert first == pytest.approx(100 * wanted / liked)


def test_a_sample_of_rows_is_judged(parts, monkeypatch):
    monkeypatch.setattr(recommendations, "JUDGED", 7)
    few = recommendations.make_judge(*parts, "item", seed=1)
    monkeypatch.setattr(recommendations, "JUDGED", 200)
    every = recommendations.make_judge(*parts, "item")
    assert len(set(few.rows.tolist())) == 7 and few.liked < every.liked
    np.testing.assert_array_equal(few.gains, every.gains[few.rows])


def test_a_split_has_all_ratings_once(parts):
    _, train, test = parts
    pairs = [set(zip(part.users.tolist(), part.items.tolist())) for part in (train, test)]
    assert not pairs[0] & pairs[1] and len(pairs[0] | pairs[1]) == len(train) + len(test)


def test_lists_do_not_have_the_row_itself(parts):
    model, _, _ = parts
    for score in recommendations.make_measures(model, "item").values():
        for row in (0, 17):
            scores, best = np.array(score(row), float), recommendations.top_rows(score, row)
            assert row not in best and len(set(best.tolist())) == 10
            assert scores[best].min() >= np.delete(scores, [*best, row]).max()


@pytest.mark.slow
def test_a_row_a_measure(monkeypatch):
    monkeypatch.setattr(recommendations, "read_shapes", lambda folder: {"planted": planted(n_users=80, n_items=40)})
    rows = list(recommendations.similar(Conditions(cpu())))
    assert len(rows) == 34 and all(len(row.samples) == 3 and np.isfinite(row.samples).all() for row in rows)
    gains = {row.what.partition("similar ")[2]: np.mean(row.samples) for row in rows}
    assert gains["items of CUSGD++: 1 + residuals damped 50"] > gains["items of CUSGD++: popularity"]
