"""Twins of an epoch in batches against the oracle; partition of ratings into batches."""

import numpy as np
import pytest
from support import thinned

from factorization.inputs import make, planted, rates, same_state
from factorization.solvers.sgd.batch_inputs import assert_learned, case_of, dealt, learned
from gpukit.errors import ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization, cpu
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import cpu_layout
from gpukit.factorization.prepare import training_data
from gpukit.factorization.solvers.rates import row_rates
from gpukit.factorization.solvers.sgd import batch_twins, schedule, training
from gpukit.factorization.solvers.sgd.batch_twins import key_batch
from gpukit.ratings import as_ratings


def by_twins(case, batch, steps):
    layout = cpu_layout(case.state.user_factors.shape[1], case.state.neighbors.shape[1])
    return learned(case, layout, batch, steps, cpu.seen_width(layout), batch_twins.walk_major, batch_twins.walk_minor)


@pytest.mark.parametrize("n_factors, n_neighbors", thinned([1, 5, 33], [0, 5, 33]))
def test_a_batch(n_factors, n_neighbors):
    case = case_of(n_factors, n_neighbors)
    batch = dealt(case)
    assert_learned(case, by_twins(case, batch, rates()), batch, rates())


@pytest.mark.parametrize("kind, biases", [("paper", True), ("adaptive", False)])
@pytest.mark.parametrize("n_neighbors, walk", [(0, "items"), (5, "items"), (0, "users")])
def test_other_rates_and_sides(kind, biases, n_neighbors, walk):
    case, steps = case_of(6, n_neighbors, seed=1, walk=walk), rates(kind, biases)
    batch = dealt(case, seed=1)
    assert_learned(case, by_twins(case, batch, steps), batch, steps)


def test_key_batch():
    """Ranks of the minor rows, slot by slot."""
    case = case_of(1, 0)
    batch = dealt(case)
    ranks, n = np.argsort(batch.rows).astype(np.int32), len(batch.pairs)
    keys, slots = np.zeros(n, np.uint64), np.zeros(n, np.uint32)
    key_batch(batch.chunks, batch.minor, ranks, keys, slots)
    assert keys.tolist() == [ranks[j] for _, j in batch.by_slot()]
    np.testing.assert_array_equal(slots, np.arange(n))


@pytest.mark.parametrize("counts", [[5], [0, 3, 0, 1, 0], [5000, 40, 2000, *range(99)], [1025] * 3])
def test_every_rating_is_in_one_batch(counts):
    """Each batch has the longest chunks first and consecutive slots.

    No two chunks of a row are in a batch.
    """
    counts, n_batches = np.array(counts), 8
    chunks, firsts, longs = training.chunks_of(counts, np.full(len(counts), 0.1), n_batches, seed=3)
    assert firsts[0] == 0 and firsts[-1] == len(chunks) and len(firsts) == n_batches + 1
    places = [t for _, first, length, _, _ in chunks.tolist() for t in range(first, first + length)]
    assert sorted(places) == list(range(counts.sum()))
    starts = np.append(0, np.cumsum(counts))
    for row, first, length, _, _ in chunks.tolist():
        assert starts[row] <= first and first + length <= starts[row + 1]
    for own, long in zip((chunks[a:b] for a, b in zip(firsts, firsts[1:])), longs):
        assert len(set(own[:, 0].tolist())) == len(own)
        assert (np.diff(own[:, 2]) <= 0).all() and (own[:long, 2] > RULES.long_row).all()
        assert (own[long:, 2] <= RULES.long_row).all()
        np.testing.assert_array_equal(own[:, 3], np.cumsum(own[:, 2]) - own[:, 2])


def test_long_rows_are_cut_and_dealt_out():
    counts = np.array([32 * RULES.batch_piece, 3 * RULES.batch_piece, 7])
    chunks, firsts, _ = training.chunks_of(counts, np.full(3, 0.1), 8, seed=0)
    batch = np.repeat(np.arange(8), np.diff(firsts))
    assert sorted(batch[chunks[:, 0] == 0]) == list(range(8))
    assert len(set(batch[chunks[:, 0] == 1])) == 3 and (chunks[chunks[:, 0] == 1, 2] == RULES.batch_piece).all()
    assert (training.chunks_of(counts, np.full(3, 0.1), 8, seed=1)[0] != chunks).any()


def test_ratings_at_once():
    """Bounded by the staleness, powers of two up to the maximum."""
    assert training.concurrent_steps(np.array([10.0, schedule.STALENESS, 0.5, 0.1, 0.0])).tolist() == [
        1,
        1,
        2,
        16,
        RULES.most_concurrent,
    ]
    order, at_once, long = training.minor_rows(np.array([1, 900, 0, 513]), np.array([1.0, 0.1, 2.0, 0.2]), 8)
    assert (order.tolist(), at_once.tolist(), long) == ([1, 3, 0, 2], [16, 8, 1, 1], 2)


def test_chunks_and_rows_take_the_concurrent_steps_of_their_rates(monkeypatch):
    """In all batches of a training, with users and items of few and of many ratings."""
    monkeypatch.setattr(training_data, "uses_strata", lambda device, deterministic: False)
    odds = np.geomspace(0.02, 2.0, 80)
    users, items = np.nonzero(np.random.default_rng(0).random((80, 80)) < np.outer(odds, odds))
    ratings = as_ratings((users, items, 1.0 + (users + items) % 5))
    run = make(MatrixFactorization, deterministic=True, learning_rate=0.3).prepare(ratings)
    chunks = np.concatenate([some for part in run.training.batches.parts for some in part.chunks])
    rows, concurrent = (np.concatenate(some) for some in (run.training.batches.rows, run.training.batches.at_once))
    counts = np.bincount(ratings.users), np.bincount(ratings.items)
    major, minor = (training.concurrent_steps(row_rates("adaptive", 0.3, some)) for some in counts)
    assert len(set(major.tolist())) > 1 and len(set(minor.tolist())) > 1
    np.testing.assert_array_equal(chunks[:, 4], major[chunks[:, 0]])
    np.testing.assert_array_equal(concurrent, minor[rows])


def test_half_precision_is_refused():
    with pytest.raises(ParameterError, match="deterministic=True use 'auto' or 'single'"):
        MatrixFactorization(deterministic=True, precision="half").check()


def test_as_good_as_plain(monkeypatch):
    """Also on a CPU, where strata are faster; a function of the seed."""
    ratings = planted(300, 120, 0.3)
    for model in (MatrixFactorization, LSHMF):
        racy = make(model, n_epochs=20).fit(ratings)
        monkeypatch.setattr(training_data, "uses_strata", lambda device, deterministic: False)
        one, same, other = (
            make(model, n_epochs=20, deterministic=True, random_state=s).fit(ratings) for s in (0, 0, 1)
        )
        assert one.score(ratings) == pytest.approx(racy.score(ratings), rel=0.03)
        assert same_state(one, same) and not same_state(one, other)


def test_batch_count():
    """The number of batches and their memory.

    A position per rating, the rows of the ratings of a batch.
    """
    layout = cpu_layout(32, 0)
    assert training.memory(3200, layout) == 4 * 3200 + 100 * 160
    assert training.memory(10**9, layout) == 4 * 10**9 + RULES.seen_bytes
    assert training.batch_count(10, 160) == RULES.least_batches
    assert training.batch_count(10**9, 160) == -(-160 * 10**9 // RULES.seen_bytes)
