"""Batch-Hogwild on the CPU against the oracle."""

from types import SimpleNamespace

import numpy as np
import pytest

from factorization.inputs import problem
from factorization.solvers.hogwild.inputs import (
    BATCH,
    RATES,
    TURN,
    assert_learned,
    in_random_order,
    samples_of,
    tables_of,
    visits,
    without_conflicts,
)
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import cpu_layout
from gpukit.factorization.solvers.hogwild import Samples, most_useful
from gpukit.factorization.solvers.hogwild_twins import hogwild_epoch, scatter_ratings


@pytest.mark.parametrize("n_factors", [1, 3, 32, 33])
@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_one_worker(n_factors, batch):
    case = problem(n_factors, 0)
    pairs, tables = in_random_order(case), tables_of(case, cpu_layout(n_factors, 0))
    hogwild_epoch(samples_of(case, pairs), *tables, RATES, batch, TURN, 1)
    assert_learned(case, tables, visits(pairs, batch))


def test_workers_without_conflicts():
    case, pairs = without_conflicts(5, 2)
    tables = tables_of(case, cpu_layout(5, 0))
    hogwild_epoch(samples_of(case, pairs), *tables, RATES, BATCH, TURN, 2)
    assert_learned(case, tables, visits(pairs, BATCH))


@pytest.mark.parametrize("counts", [(1,), (0, 3, 0, 5), (40, 0, 1, 23)])
def test_ratings_are_scattered(counts):
    """Each rating once, in an order that depends on the key."""
    starts, n = np.concatenate(([0], np.cumsum(counts))).astype(np.int64), sum(counts)
    minor, values = np.arange(n, dtype=np.int32), np.linspace(-1, 1, n).astype(np.float32)
    orders = []
    for seed_key in (1, 1, 2):
        found = Samples(np.full(n, -1, np.int32), np.full(n, -1, np.int32), np.full(n, np.nan, np.float32))
        scatter_ratings(starts, minor, values, np.uint32(seed_key), found)
        assert sorted(found.minor.tolist()) == list(range(n))
        np.testing.assert_array_equal(found.major, np.repeat(np.arange(len(counts)), counts)[found.minor])
        np.testing.assert_array_equal(found.values, values[found.minor])
        orders.append(found.minor.tolist())
    assert orders[0] == orders[1] and (n < 5 or orders[0] != orders[2] and orders[0] != sorted(orders[0]))


@pytest.mark.parametrize("shape", [(2, 3), (40, 30), (700, 5000)])
def test_workers_seldom_share_rows(shape):
    """Conflicts are about RULES.hogwild_meetings and not above it.

    The value is the probability that two ratings share a row, times the other workers. Users and items are drawn by
    their number of ratings; few rows have one worker.
    """
    rng = np.random.default_rng(0)
    counts = [rng.integers(1, 9, rows) ** 2 for rows in shape]
    counts[0] = counts[0] * int(counts[1].sum())
    counts[1] = counts[1] * int(counts[0].sum() // counts[1].sum())
    sides = [SimpleNamespace(indptr=np.concatenate(([0], np.cumsum(side)))) for side in counts]
    workers = most_useful(SimpleNamespace(by_user=sides[0], by_item=sides[1]))
    drawn = [rng.choice(len(side), (2, 400_000), p=side / side.sum()) for side in counts]
    chance = sum(np.mean(one == other) for one, other in drawn)
    assert workers == 1 or 0.8 * RULES.hogwild_meetings < workers * chance < 1.1 * RULES.hogwild_meetings
    assert (workers > 1) == (shape != (2, 3))
