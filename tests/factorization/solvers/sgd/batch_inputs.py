"""Inputs of kernels, twins and oracle: a batch of a small model."""

from typing import NamedTuple

import numpy as np

from factorization import naive
from factorization.inputs import Z, assert_near, code_lines, levels, oracle, pack, problem, unpack
from gpukit.factorization.arrays import Batch

SIDES = {
    "users": (("U", "b", "s"), ("V", "b_hat", "s_hat")),
    "items": (("V", "b_hat", "s_hat", "W", "C"), ("U", "b", "s")),
}


class Dealt(NamedTuple):
    """The ratings of one batch.

    chunks (n, 5) int64; minor, values, pairs by major row; starts, slots, rows, at_once of the minor rows.
    """

    chunks: np.ndarray
    minor: np.ndarray
    values: np.ndarray
    pairs: list
    starts: np.ndarray
    slots: np.ndarray
    rows: np.ndarray
    at_once: np.ndarray

    def by_slot(self):
        """Return [(i, j)] of each slot."""
        places = {slot + t: first + t for _, first, n, slot, _ in self.chunks.tolist() for t in range(n)}
        return [self.pairs[places[slot]] for slot in range(len(self.slots))]

    def steps(self):
        """Return (steps of the major rows, of the minor rows), as in naive.batch."""
        by_slot, major, minor = self.by_slot(), [], []
        for _, first, n, _, most in self.chunks.tolist():
            major += [self.pairs[first + t : first + min(t + most, n)] for t in range(0, n, most)]
        for k, most in enumerate(self.at_once.tolist()):
            mine = [by_slot[slot] for slot in self.slots[self.starts[k] : self.starts[k + 1]].tolist()]
            minor += [mine[t : t + most] for t in range(0, len(mine), most)]
        return major, minor


def dealt(case, seed=0):
    """Return the ratings of a Problem as one batch.

    Rows are in random order, each with 1 to 32 concurrent steps.
    """
    rng = np.random.default_rng(seed)
    side = 0 if case.walk == "users" else 1
    pairs = sorted((list(case.rated)[p] for p in rng.permutation(len(case.rated))), key=lambda pair: pair[side])
    major, minor = (np.array([pair[own] for pair in pairs]) for own in (side, 1 - side))
    rows, first, lengths = np.unique(major, return_index=True, return_counts=True)
    order = rng.permutation(len(rows))
    slot = np.cumsum(lengths[order]) - lengths[order]
    chunks = np.stack([rows[order], first[order], lengths[order], slot, 2 ** rng.integers(0, 6, len(rows))], axis=1)
    place = np.concatenate([np.arange(one, one + n) for one, n in zip(first[order], lengths[order])])
    ranked = rng.permutation(case.shape[1 - side]).astype(np.int32)
    rank = np.argsort(ranked)[minor[place]]
    slots = np.argsort(rank, kind="stable").astype(np.uint32)
    starts = np.searchsorted(rank[slots], np.arange(len(ranked) + 1)).astype(np.int64)
    values = np.array([Z[case.rated[pair]] for pair in pairs], np.float32)
    at_once = (2 ** rng.integers(0, 6, len(ranked))).astype(np.int32)
    return Dealt(chunks.astype(np.int64), minor.astype(np.int32), values, pairs, starts, slots, ranked, at_once)


def learned(case, layout, batch, rates, width, walk_major, walk_minor, view=lambda codes: codes):
    """Return the Problem's State after a batch.

    width: numbers stored for a rating; view: of code lines.
    """
    parameters, _ = pack(case, layout)
    seen = np.full((len(batch.pairs), width), np.nan, np.float32)
    codes = view(code_lines(case, layout, batch.pairs))
    walk_major(batch.chunks, Batch(batch.minor, batch.values, codes, levels()), parameters, rates, seen)
    walk_minor(batch.starts, batch.slots, batch.rows, batch.at_once, seen, parameters.Q, rates)
    return unpack(case, layout, parameters)


def assert_learned(case, state, batch, rates):
    """The state is within the error budget of the oracle's."""
    steps = batch.steps()
    assert max(len(step) for step in steps[0]) > 1 and max(len(step) for step in steps[1]) > 1
    exact, plain = (
        naive.batch(oracle(case, dtype), *steps, SIDES[case.walk], rates) for dtype in (np.float64, np.float32)
    )
    assert_near(state, plain, exact)


def case_of(n_factors, n_neighbors, seed=0, walk=None):
    """A Problem with few rows.

    On each side one row is long and one has no ratings.
    """
    case = problem(n_factors, n_neighbors, shape=(6, 36), n_ratings=70, seed=seed, walk=walk)
    rated = {pair: level for pair, level in case.rated.items() if pair[0] != 2}
    rated.update({(2, j): j % len(Z) for j in range(36) if j != 1})
    return case._replace(rated=rated)
