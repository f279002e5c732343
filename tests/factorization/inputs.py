"""Small difficult problems for tests of CPU twins and kernels."""

from typing import NamedTuple

import numpy as np
from support import assert_within_budget

from factorization import naive
from gpukit.device import cpu
from gpukit.factorization import LSHMF
from gpukit.factorization.arrays import Batch, History, Pairs, Parameters, Query, Tables, WeightedBatch
from gpukit.factorization.constants import DAMPING, RULES
from gpukit.factorization.model import state as states
from gpukit.factorization.model.layout import BASE, EXTRA, LEVELS, NO_NEIGHBOR, Layout, Rows
from gpukit.factorization.solvers.sgd.formulas import Rates
from gpukit.primitives.keys import LAST, score_of_key
from gpukit.random import integer_below
from gpukit.ratings import Ratings
from gpukit.ratings.orders.order import order_ratings

Z = np.array([-1.7, -0.8, 0.1, 0.6, 1.4], np.float32)  # ratings, in the units of training
TURN = np.uint32(0x1234567)


class Problem(NamedTuple):
    """Ratings of a very small model during its training.

    rated {(i, j): level in Z}; walk: the major side, 'users' or 'items'; weight {(i, j): weight of a rating} or None.
    """

    shape: tuple
    walk: str
    rated: dict
    state: states.State
    weight: dict | None = None


def problem(n_factors, n_neighbors, shape=(9, 40), n_ratings=150, seed=0, walk=None):
    """Return a Problem; the last user and item 1 have no ratings.

    walk: the major side, by default that of the estimators.
    """
    rng = np.random.default_rng([seed, n_factors, n_neighbors])
    n_users, n_items = shape
    pairs = [(i, j) for i in range(max(1, n_users - 1)) for j in range(n_items) if j != 1]
    chosen = rng.choice(len(pairs), min(n_ratings, len(pairs)), replace=False)
    rated = {pairs[p]: int(rng.integers(len(Z))) for p in chosen}
    sides = []
    for rows in shape:
        extras = np.stack([0.3 * rng.normal(size=rows), 9 * rng.random(rows), 0.3 * rng.normal(size=rows)], axis=1)
        sides += [rng.normal(size=(rows, n_factors)) / n_factors**0.5, extras]
    neighbors = np.zeros((n_items, n_neighbors), np.int32)
    for j in range(n_items if n_neighbors else 0):
        neighbors[j] = rng.choice([other for other in range(n_items) if other != j], n_neighbors, replace=False)
    influence = 0.2 * rng.normal(size=(n_items, 2, n_neighbors))
    floats = [np.ascontiguousarray(array, np.float32) for array in (*sides, influence)]
    return Problem(shape, walk or ("items" if n_neighbors else "users"), rated, states.State(*floats, neighbors))


def with_weights(problem):
    """Return the Problem with weights of ratings from 0.01 to 3."""
    drawn = np.random.default_rng(len(problem.rated)).uniform(0.01, 3.0, len(problem.rated)).astype(np.float32)
    return problem._replace(weight=dict(zip(problem.rated, drawn)))


def stored(problem):
    """Return the Problem with its minor side's factors rounded to float16."""
    name = "item_factors" if problem.walk == "users" else "user_factors"
    halves = getattr(problem.state, name).astype(np.float16).astype(np.float32)
    return problem._replace(state=problem.state._replace(**{name: halves}))


def rates(kind="adaptive", biases=True):
    """Return large, distinct rates, so that an error shows.

    kind 'paper': rates do not fall with squared errors of rows.
    """
    gains = (0.03, 0.9) if kind == "adaptive" else (0.0, 0.0)
    return Rates(*map(np.float32, (0.25, gains[0], 0.09, 0.17 if biases else 0.0, gains[1], 0.05, 0.03, 0.21)))


def oracle(problem, dtype):
    """Return the Problem as a naive.Model."""
    state = problem.state
    (b, s, base), (b_hat, s_hat, base_hat) = state.user_extras.T, state.item_extras.T
    r = {pair: Z[level] for pair, level in problem.rated.items()}
    return naive.Model(
        dtype,
        state.neighbors,
        r,
        problem.weight,
        U=state.user_factors,
        V=state.item_factors,
        b=b,
        s=s,
        base=base,
        b_hat=b_hat,
        s_hat=s_hat,
        base_hat=base_hat,
        W=state.influence[:, 0],
        C=state.influence[:, 1],
    )


def predictions(problem, dtype, pairs):
    """Return the oracle's predictions for pairs."""
    model = oracle(problem, dtype)
    return [naive.predict(model, *pair) for pair in pairs]


def lanes_layout(n_factors, n_neighbors, lanes, half=False):
    """Return a Layout with a given number of lanes."""
    factors, near = (4 * -(-size // (4 * lanes)) for size in (n_factors, n_neighbors))
    major, minor = (
        Rows(n_factors, -(-(lanes * factors // (1 + kind) + EXTRA) // 4) * 4, kind) for kind in (False, half)
    )
    return Layout(n_factors, n_neighbors, lanes, factors, near, major, minor)


def levels():
    """Return (256,) float32: code 1 + level -> rating; unused codes are NaN."""
    table = np.full(LEVELS, np.nan, np.float32)
    table[1 : 1 + len(Z)] = Z
    return table


def code_lines(problem, layout, pairs):
    """Return code lines (len(pairs), slots) uint8 by looking up every neighbour."""
    lines = np.full((len(pairs), layout.slots), NO_NEIGHBOR, np.uint8)
    for line, (i, j) in zip(lines, pairs):
        for k, other in enumerate(problem.state.neighbors[j] if j < problem.shape[1] else []):
            line[k] = 1 + problem.rated[i, other] if (i, other) in problem.rated else 0
    return lines


def pack(problem, layout):
    """Return (Parameters, neighbors) of a Problem in a layout, as arguments of kernels."""
    sides = states.pack_sides(problem.state, layout, problem.walk)
    if not layout.slots:  # unused, but an empty array cannot be sent to a GPU
        return Parameters(*sides, *(np.zeros((1, 1), np.float32) for _ in range(2))), np.zeros((1, 1), np.int32)
    state = problem.state
    base = state.item_extras[:, BASE]
    near, *neighborhood = states.pack_neighborhood(state.neighbors, state.influence, base, layout)
    return Parameters(*sides, *neighborhood), near


class Walk(NamedTuple):
    """Ratings of an epoch by major row.

    chunks (n, 3) int64, minor (nnz,) int32, values (nnz,) float32, pairs [(i, j)]; weights (nnz,) float32 or None.
    """

    chunks: np.ndarray
    minor: np.ndarray
    values: np.ndarray
    pairs: list
    weights: np.ndarray | None

    def batch(self, codes):
        """Return the Batch of an epoch with lines of codes; a WeightedBatch for weights."""
        read = self.minor, self.values, codes, levels()
        return Batch(*read) if self.weights is None else WeightedBatch(*read, self.weights)

    def visits(self):
        """Return [(i, j)] in the order of one worker."""
        shifts = [int(integer_below(TURN, c, length)) for c, length in enumerate(self.chunks[:, 2].tolist())]
        return naive.walk(self.chunks.tolist(), shifts, self.pairs)


def walk(problem, longest=7, seed=0):
    """Return a Walk with rows cut into chunks of up to `longest`.

    Every rating occurs once. Chunks are in random order, one of them without ratings.
    """
    rng = np.random.default_rng(seed)
    side = 0 if problem.walk == "users" else 1
    pairs = list(problem.rated)
    pairs = sorted((pairs[p] for p in rng.permutation(len(pairs))), key=lambda pair: pair[side])
    chunks, first = [(0, 0, 0)], 0
    while first < len(pairs):
        row = pairs[first][side]
        length = 1
        while first + length < len(pairs) and pairs[first + length][side] == row and length < longest:
            length += 1
        chunks.append((row, first, length))
        first += length
    minor = np.array([pair[1 - side] for pair in pairs], np.int32)
    ratings = np.array([Z[problem.rated[pair]] for pair in pairs], np.float32)
    weights = np.array([problem.weight[pair] for pair in pairs], np.float32) if problem.weight else None
    return Walk(np.array(chunks, np.int64)[rng.permutation(len(chunks))], minor, ratings, pairs, weights)


def empty_tables(n_users, n_items):
    """Return Tables for some users, filled with values that must not be read."""
    shape = -(-n_users // 32), n_items + 1
    return Tables(np.full(shape, 0xDEADBEEF, np.uint32), np.full((*shape, 32), 77, np.uint8), levels())


def tables_of(case, users):
    """Return the Tables of some users of a Problem by looking up every item."""
    tables = empty_tables(len(users), case.shape[1])
    tables.rated[:] = 0
    for place, user in enumerate(users):
        for j in range(case.shape[1]):
            if (user, j) in case.rated:
                tables.rated[place // 32, j] |= np.uint32(1) << np.uint32(place % 32)
                tables.codes[place // 32, j, place % 32] = 1 + case.rated[user, j]
    return tables


def assert_same_tables(tables, expected):
    """Check that the readable parts of two Tables are equal."""
    np.testing.assert_array_equal(tables.rated, expected.rated)
    bits = (expected.rated[..., None] >> np.arange(32, dtype=np.uint32)) & 1 == 1
    np.testing.assert_array_equal(tables.codes[bits], expected.codes[bits])


def assert_right_keys(keys, case, users, worth, hide):
    """Check keys of scores against the oracle's, within budget; LAST for hidden items."""
    n_items = case.shape[1]
    out = np.array([[(hide and (i, j) in case.rated) or np.isnan(worth[j]) for j in range(n_items)] for i in users])
    np.testing.assert_array_equal(keys == LAST, out)
    scores = np.array([[score_of_key(key) for key in row] for row in keys], np.float32)
    exact, plain = (
        np.array([predictions(case, dtype, [(i, j) for j in range(n_items)]) for i in users]) + worth.astype(dtype)
        for dtype in (np.float64, np.float32)
    )
    assert_within_budget(scores[~out], plain[~out], exact[~out])


def worths(n_items):
    """Return (N,) float32 worths of items; NaN for items left out."""
    worth = np.random.default_rng(n_items).normal(size=n_items).astype(np.float32)
    worth[::7] = np.nan
    return worth


def history(case):
    """Return the History of each user's ratings."""
    pairs = sorted(case.rated)
    counts = np.bincount([i for i, _ in pairs], minlength=case.shape[0] + 1)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    items = np.array([j for _, j in pairs], np.int32)
    return History(indptr, items, np.array([1 + case.rated[p] for p in pairs], np.uint8), levels())


def query(case, pairs):
    """Return a Query of sorted pairs with random output positions and one extra user."""
    indptr = np.searchsorted([i for i, _ in pairs], np.arange(case.shape[0] + 2)).astype(np.int64)
    places = np.random.default_rng(0).permutation(len(pairs)).astype(np.uint32)
    return Query(indptr, np.array([j for _, j in pairs], np.int32), places)


def asked(case, pairs, codes):
    """Return the Pairs of a Problem, with lines of codes."""
    users, items = np.array(pairs, np.int32).T.copy()
    major, minor = (users, items) if case.walk == "users" else (items, users)
    return Pairs(major, minor, codes, levels())


def without_conflicts(problem, workers):
    """Return the Problem with only ratings whose user and item are equal modulo workers."""
    kept = {(i, j): level for (i, j), level in problem.rated.items() if i % workers == j % workers}
    return problem._replace(rated=kept)


def dealt(chunks, workers):
    """Return chunks in an order that assigns worker w the rows w modulo workers.

    Unused positions have length 0.
    """
    rows = [chunks[chunks[:, 0] % workers == w] for w in range(workers)]
    table = np.zeros((workers * max(map(len, rows)), 3), np.int64)
    for w, mine in enumerate(rows):
        table[w : w + workers * len(mine) : workers] = mine
    return table


def assert_unused_is_zero(table, rows):
    """Check that padding and the unknown row of parameter rows are zero."""
    numbers = table.view(np.float16) if rows.half else table
    behind = rows.stride - EXTRA
    assert not numbers[:, rows.n_factors : (1 + rows.half) * behind].any()
    assert not table[:, behind + states.KEPT :].any() and not table[-1].any()


def unpack(problem, layout, parameters):
    """Return the State in Parameters; check that padding and unknown rows are zero."""
    for table, rows in (parameters.P, layout.major), (parameters.Q, layout.minor):
        assert_unused_is_zero(table, rows)
    P, Q = states.unpack_rows(parameters.P, layout.major), states.unpack_rows(parameters.Q, layout.minor)
    influence = problem.state.influence
    if layout.slots:
        influence = states.unpack_influence(parameters.influence, layout)
        assert not parameters.influence.reshape(len(parameters.influence), 2, -1)[:, :, layout.n_neighbors :].any()
    sides = (*P, *Q) if problem.walk == "users" else (*Q, *P)
    return states.State(*sides, influence, problem.state.neighbors)


HALF = 2 * 2**13  # units in the last place of float32 that equal two of float16


def assert_learned(problem, state, visits, rates, half=False):
    """Check a State against the oracle after the visits, within budget.

    half: the minor side's factors are float16. A sum near the midpoint of two float16 numbers may be rounded to either,
    so two more units are permitted there.
    """
    minor = ("V" if problem.walk == "users" else "U") if half else ""
    exact, plain = (naive.epoch(oracle(problem, dtype), visits, rates, minor) for dtype in (np.float64, np.float32))
    assert_near(state, plain, exact, HALF if half else 4)


def assert_near(state, plain, exact, units=4):
    """Check that a State is within the error budget of two naive.Models."""
    (b, s, base), (b_hat, s_hat, base_hat) = state.user_extras.T, state.item_extras.T
    found = {
        "U": state.user_factors,
        "V": state.item_factors,
        "b": b,
        "b_hat": b_hat,
        "s": s,
        "s_hat": s_hat,
        "base": base,
        "base_hat": base_hat,
        "W": state.influence[:, 0],
        "C": state.influence[:, 1],
    }
    for name, values in found.items():
        try:
            assert_within_budget(values, getattr(plain, name), getattr(exact, name), units)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


def planted(n_users=60, n_items=30, density=0.5, rank=3, seed=0, scale=(1, 5)):
    """Return Ratings with whole stars around a planted low rank; ids have gaps."""
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < density)
    taste = rng.normal(size=(n_users, rank)) @ rng.normal(size=(rank, n_items)) / rank**0.5
    taste += 0.5 * rng.normal(size=(n_users, 1)) + 0.5 * rng.normal(size=n_items)
    values = np.clip(np.rint(np.mean(scale) + 1.2 * taste[users, items]), *scale).astype(np.float32)
    return Ratings(
        users.astype(np.int32), items.astype(np.int32), values, 10 * np.arange(n_users) + 7, 3 * np.arange(n_items) + 1
    )


def ratings_of(values, n_users=40, n_items=25, seed=0):
    """Return Ratings with these values at random pairs; users 0 and 7 have none."""
    rng = np.random.default_rng(seed)
    pairs = rng.choice(
        [i * n_items + j for i in range(n_users) if i not in (0, 7) for j in range(n_items)], len(values), replace=False
    )
    return Ratings(
        (pairs // n_items).astype(np.int32),
        (pairs % n_items).astype(np.int32),
        np.asarray(values, np.float32),
        np.arange(n_users),
        np.arange(n_items),
    )


def ordered(ratings, device=None):
    """Return the Orders of Ratings, by default on the CPU."""
    return order_ratings(ratings, device or cpu())


def make(model, **parameters):
    """Return a small MatrixFactorization or LSHMF on the CPU with all settings named."""
    if model is LSHMF:
        parameters = {"n_neighbors": 4, "lsh_q": 20, **parameters}
    return model(**{"n_factors": 4, "n_epochs": 5, "regularization": 0.06, "device": "cpu", **parameters})


def same_state(one, other):
    """Return True if two fitted models are bit-identical."""
    return all(np.array_equal(a, b) for a, b in zip(one._state, other._state))


def bias_predictor(ratings):
    """Return (mean, user biases (M,), item biases (N,)) float64, a baseline predictor."""
    mean, (users, items) = ratings.values.mean(dtype=np.float64), (ratings.users, ratings.items)
    bias, counts = (
        np.zeros(ratings.shape[0]),
        [np.bincount(users, minlength=ratings.shape[0]), np.bincount(items, minlength=ratings.shape[1])],
    )
    for _ in range(RULES.bias_sweeps):
        other = np.bincount(items, ratings.values - mean - bias[users], ratings.shape[1]) / (counts[1] + DAMPING)
        bias = np.bincount(users, ratings.values - mean - other[items], ratings.shape[0]) / (counts[0] + DAMPING)
    return mean, bias, other
