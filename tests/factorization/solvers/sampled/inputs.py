"""Inputs for tests of twins and kernels."""

from typing import NamedTuple

import numpy as np
from support import assert_within_budget

from factorization import naive as models
from factorization.inputs import TURN, problem
from factorization.solvers.sampled import naive
from gpukit.factorization.model.layout import BASE
from gpukit.factorization.solvers.sampled_formulas import Clicks, Draw
from gpukit.random import integer_below

KEY = 0x9ABCDEF0


class Trail(NamedTuple):
    """Clicks of a Problem by user, and their chunks.

    pairs [(i, j)] are in the order of the clicks.
    """

    chunks: np.ndarray
    clicks: Clicks
    pairs: list


def clicked_problem(n_factors, n_neighbors, **other):
    """A Problem with baselines of 0 and users as major side.

    The levels of its ratings are ignored.
    """
    case = problem(n_factors, n_neighbors, **{"shape": (4, 36), "n_ratings": 40, "walk": "users", **other})
    for extras in case.state.user_extras, case.state.item_extras:
        extras[:, BASE] = 0
    return case


def trail_of(case, longest=7, seed=0, workers=1):
    """Return the Trail of a Problem.

    Clicks are in random order, in chunks of up to `longest`, one of them empty. The clicks of user i belong to worker i
    modulo `workers`.
    """
    rng = np.random.default_rng(seed)
    pairs = list(case.rated)
    pairs = sorted((pairs[p] for p in rng.permutation(len(pairs))), key=lambda pair: pair[0])
    counts = np.bincount([i for i, _ in pairs], minlength=case.shape[0])
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    hands = [[] for _ in range(workers)]
    for i in rng.permutation(case.shape[0]):
        ends = range(starts[i], starts[i + 1], longest)
        hands[i % workers] += [(i, first, min(longest, starts[i + 1] - first)) for first in ends]
    chunks = np.zeros((workers * (max(map(len, hands)) + 1), 3), np.int64)
    for w, hand in enumerate(hands):
        chunks[w : w + workers * len(hand) : workers] = np.array(hand).reshape(-1, 3)
    return Trail(chunks, Clicks(starts, np.array([j for _, j in pairs], np.int32)), pairs)


def draw_of(negatives=3, pairwise=False):
    """A Draw."""
    return Draw(np.uint32(KEY), negatives, pairwise)


def visits(case, trail, draw):
    """Return [(i, j, place)] in the order of one worker."""
    walked = []
    for c, (_, first, length) in enumerate(trail.chunks.tolist()):
        shift = int(integer_below(TURN, c, length))
        walked += [first + (s + shift) % length for s in range(length)]
    clicked = [{j for i, j in trail.pairs if i == user} for user in range(case.shape[0])]
    walked = [(t, *trail.pairs[t]) for t in walked]
    return naive.examples(walked, clicked, case.shape[1], KEY, draw.negatives, draw.pairwise)


def model_of(case, dtype):
    """Return the Problem as a naive.Model of clicks."""
    state = case.state
    (b, s, base), (b_hat, s_hat, base_hat) = state.user_extras.T, state.item_extras.T
    arrays = {"U": state.user_factors, "V": state.item_factors, "b": b, "s": s, "base": base}
    arrays |= {"b_hat": b_hat, "s_hat": s_hat, "base_hat": base_hat}
    arrays |= {"W": state.influence[:, 0], "C": state.influence[:, 1]}
    return models.Model(dtype, state.neighbors, dict.fromkeys(case.rated, 1), **arrays)


def assert_learned(case, state, seen, steps, pairwise):
    """The state is within the error budget of the oracle's after the visits `seen`."""
    exact, plain = (naive.epoch(model_of(case, dtype), seen, steps, pairwise) for dtype in (np.float64, np.float32))
    (b, s, base), (b_hat, s_hat, base_hat) = state.user_extras.T, state.item_extras.T
    found = {"U": state.user_factors, "V": state.item_factors, "b": b, "s": s, "base": base, "b_hat": b_hat}
    found |= {"s_hat": s_hat, "base_hat": base_hat, "W": state.influence[:, 0], "C": state.influence[:, 1]}
    for name, values in found.items():
        try:
            assert_within_budget(values, getattr(plain, name), getattr(exact, name), 8)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None
