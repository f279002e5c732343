"""Inputs for tests of twins and kernels.

The oracle is factorization/naive.py with one rate for all rows.
"""

import numpy as np
from support import assert_within_budget

from factorization import naive
from factorization.inputs import Z, oracle, problem
from gpukit.factorization.model.layout import BIAS, EXTRA
from gpukit.factorization.model.state import pack_sides
from gpukit.factorization.prepare.formulas import half_width
from gpukit.factorization.solvers.hogwild import Samples
from gpukit.factorization.solvers.sgd.formulas import Rates
from gpukit.random import shuffle_index

RATE, BIAS_RATE, DECAY = (np.float32(x) for x in (0.21, 0.13, 0.09))
RATES = Rates(*map(np.float32, (RATE, 0, DECAY, BIAS_RATE, 0, DECAY, 0, 0)))
BATCH, TURN = 7, np.uint32(77)


def samples_of(case, pairs):
    """Return the Samples of a Problem's ratings in this order."""
    users, items = np.array(pairs, np.int32).reshape(-1, 2).T.copy()
    return Samples(users, items, np.array([Z[case.rated[pair]] for pair in pairs], np.float32))


def in_random_order(case, seed=0):
    """[(i, j)]."""
    pairs = list(case.rated)
    return [pairs[p] for p in np.random.default_rng(seed).permutation(len(pairs))]


def without_conflicts(n_factors, workers):
    """Return (Problem, pairs) without conflicts.

    Batch w of every `workers` has the rows that are w modulo workers.
    """
    case = problem(n_factors, 0, shape=(12, 40), n_ratings=250)
    hands = [[pair for pair in case.rated if pair[0] % workers == pair[1] % workers == w] for w in range(workers)]
    rounds = min(map(len, hands)) // BATCH
    assert rounds > 1
    visited = [hand[r * BATCH : (r + 1) * BATCH] for r in range(rounds) for hand in hands]
    places = order_of_batches(len(visited))
    return case, [pair for place in sorted(range(len(places)), key=places.__getitem__) for pair in visited[place]]


def order_of_batches(n):
    """Return the numbers of n batches in the order of processing."""
    return [int(shuffle_index(TURN, np.uint32(place), half_width(n), np.uint32(n))) for place in range(n)]


def visits(pairs, batch):
    """Return pairs in the order of one worker."""
    batches = [pairs[first : first + batch] for first in range(0, len(pairs), batch)]
    return [pair for number in order_of_batches(len(batches)) for pair in batches[number]]


def tables_of(case, layout):
    """Return (own, other): a Problem's parameter rows in a layout."""
    return pack_sides(case.state, layout, "users")


def assert_learned(case, tables, pairs):
    """Check factors and biases against the oracle, within budget.

    Other numbers are unchanged.
    """
    exact, plain = (naive.epoch(oracle(case, dtype), pairs, RATES) for dtype in (np.float64, np.float32))
    n, state = case.state.user_factors.shape[1], case.state
    for table, factors, bias, extras in (
        (tables[0], "U", "b", state.user_extras),
        (tables[1], "V", "b_hat", state.item_extras),
    ):
        at = table.shape[1] - EXTRA
        for name, found in (factors, table[:-1, :n]), (bias, table[:-1, at + BIAS]):
            assert_within_budget(found, getattr(plain, name), getattr(exact, name), 4)
        np.testing.assert_array_equal(table[:-1, at + 1 : at + 3], extras[:, 1:])
        assert not table[:, n:at].any() and not table[-1].any()
