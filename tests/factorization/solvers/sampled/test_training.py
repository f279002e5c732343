"""The solver of sampled negatives from outside: learning, repeatability, gain by neighbourhoods."""

import contextlib

import numpy as np
import pytest

from factorization.implicit.planted import clicks, hits
from gpukit.errors import GpukitError, ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.settings import Settings
from gpukit.factorization.solvers import rates, sampled
from gpukit.factorization.solvers.sampled_formulas import examples_of
from gpukit.ratings import Ratings

LOSSES = pytest.mark.parametrize("loss", ["cross-entropy", "bpr"])
SETTINGS = Settings(3, "sampled", "adaptive", 0.15, 0.01, 0.9, True, 0, 5, 8, loss="bpr", n_negatives=4)


def make(kind=MatrixFactorization, **parameters):
    """An estimator with few factors and all settings named, on the CPU."""
    few = {"n_neighbors": 5, "lsh_q": 20} if kind is LSHMF else {}
    named = {"n_factors": 8, "n_epochs": 15, "regularization": 0.01, "unobserved_weight": 0.0}
    return kind(**{"solver": "sampled", "device": "cpu", **named, **few, **parameters})


def same_state(one, other):
    """Return True if two fitted models are bit-identical."""
    return all(np.array_equal(a, b) for a, b in zip(one._state, other._state))


@LOSSES
@pytest.mark.parametrize("kind", [MatrixFactorization, LSHMF])
def test_learning_beats_popularity(kind, loss):
    train, held_out = clicks()
    fitted = make(kind, loss=loss).fit(train)
    assert fitted.feedback_ == "implicit"
    counts = np.bincount(train.items, minlength=train.shape[1])
    popular = np.tile(train.item_ids[np.argsort(-counts, kind="stable")], (train.shape[0], 1))
    assert hits(fitted.recommend(n=5)[0], held_out) > 2 * hits(popular[:, :5], held_out)
    assert bool(fitted._state.influence.any()) == (kind is LSHMF)


@LOSSES
def test_one_worker_repeats_to_the_bit(loss):
    train, _ = clicks()
    fits = [make(LSHMF, loss=loss, deterministic=True, n_epochs=2, random_state=seed).fit(train) for seed in (3, 3, 4)]
    assert same_state(*fits[:2]) and not same_state(*fits[1:])


def test_known_clicks_score_above_what_was_never_clicked():
    """The cross-entropy learns probabilities: high for clicks, low for others."""
    train, _ = clicks()
    fitted = make(n_epochs=30).fit(train)
    rows = np.random.default_rng(0).integers(0, train.shape[1], (2000, 2)) % np.array(train.shape)
    known = set(zip(train.users.tolist(), train.items.tolist()))
    others = np.array([row for row in rows.tolist() if tuple(row) not in known])
    never = fitted.predict((train.user_ids[others[:, 0]], train.item_ids[others[:, 1]]))
    assert fitted.predict(train).mean() > never.mean() + 1


@LOSSES
@pytest.mark.parametrize("kind", [MatrixFactorization, LSHMF])
def test_users_with_all_clicks(kind, loss):
    """They have no negatives, and training ends nevertheless."""
    users, items = np.nonzero(np.ones((6, 7)))
    table = users.astype(np.int32), items.astype(np.int32), np.ones(len(users), np.float32)
    fitted = make(kind, loss=loss, n_factors=3).fit(Ratings(*table, np.arange(6), np.arange(7)))
    assert np.isfinite(fitted.user_factors_).all() and np.isfinite(fitted.item_bias_).all()


def test_without_biases_and_at_the_papers_rates():
    train, held_out = clicks()
    fitted = make(biases=False).fit(train)
    assert not fitted._state.user_extras[:, 0].any() and np.abs(fitted.item_bias_).max() < 1e-3
    slow = make(rates="paper", learning_rate=0.1, n_epochs=30).fit(train)
    assert hits(slow.recommend(n=5)[0], held_out) > 0.2


def test_workers_are_no_more_than_there_are_items_examples_or_memory_for():
    assert sampled.worker_count(10**9, 10**6, SETTINGS, 8448) == 8448
    assert sampled.worker_count(10**9, 50, SETTINGS, 8448) == 400
    assert sampled.worker_count(10**9, 10**8, SETTINGS, 8448) == (1 << 34) // 10**8 // 4 * 4
    assert sampled.worker_count(100, 10**6, SETTINGS, 8448) == 1
    assert examples_of(4, True) == 6 and examples_of(4, False) == 5


def test_keys_of_epochs_differ():
    keys = {int(sampled.draw_key(seed, epoch)) for seed in (1, 2) for epoch in range(50)}
    assert len(keys) == 100 and sampled.draw_key(1, 0) == sampled.draw_key(1, 1 << 16)


def test_fewer_clicks_take_more_epochs():
    assert [rates.sampled_defaults("adaptive", n)["epochs"] for n in (0, 35_000, 10**6, 10**8)] == [30, 30, 15, 15]
    assert rates.sampled_defaults("paper", 10**5)["epochs"] == 24


def test_rates_of_an_epoch():
    first, third = (SETTINGS.epoch_rates(epoch) for epoch in (0, 2))
    assert first.influence == third.influence == np.float32(0.05)
    assert first.factor == np.float32(0.15) and third.factor == np.float32(0.15 * 0.81)
    assert first.bias == third.bias > 0 and SETTINGS._replace(biases=False).epoch_rates(0).bias == 0
    paper = [SETTINGS._replace(rates="paper").epoch_rates(epoch) for epoch in (0, 5)]
    assert paper[0].factor == np.float32(0.15) > paper[1].factor and paper[0].factor_gain == 0


def table_of(pairs, shape):
    """Return the Ratings of clicks [(i, j)]."""
    users, items = np.array(pairs, np.int32).T.copy()
    return Ratings(users, items, np.ones(len(users), np.float32), np.arange(shape[0]), np.arange(shape[1]))


@LOSSES
@pytest.mark.parametrize("kind", [MatrixFactorization, LSHMF])
@pytest.mark.parametrize(
    "pairs, shape",
    [
        ([(0, 0), (1, 1)], (2, 2)),
        ([(i, 0) for i in range(9)] + [(8, 1)], (9, 2)),
        ([(0, j) for j in range(600)] + [(1, 3)], (3, 601)),
    ],
    ids=["a click each", "one item that all clicked", "a user of several chunks, one of none, an item of none"],
)
def test_awkward_tables(pairs, shape, kind, loss):
    near = {"n_neighbors": 1} if kind is LSHMF else {}
    with pytest.warns(UserWarning, match="n_factors=8") if min(shape) < 8 else contextlib.nullcontext():
        fitted = make(kind, loss=loss, n_negatives=20, **near).fit(table_of(pairs, shape))
    assert all(np.isfinite(numbers).all() for numbers in fitted._state)
    clicked, other = fitted.predict(pairs[:1])[0], fitted.predict([(pairs[0][0], shape[1] - 1)])[0]
    assert clicked > other


def test_steps_that_are_far_too_long_are_reported():
    train, _ = clicks()
    with pytest.raises(GpukitError, match="Training diverged"):
        make(learning_rate=1e20, regularization=0.5).fit(train)


def test_more_negatives_than_an_epoch_can_count():
    train, _ = clicks()
    with pytest.raises(ParameterError, match="n_negatives"):
        make(n_negatives=10**7).fit(train)
