"""Problems with given scores, and the expected results of a session, from all pairs."""

import numpy as np
from support import SIMULATED

from gpukit.ranking.problem import Problem, Ranks, build_tree
from ranking import inputs, naive

WITH_PAIRS = [name for name in inputs.CASES if name not in ("no query", "single documents", "one level")]


def small_blocks(monkeypatch):
    """Let blocks that process queries have 64 threads in the simulator, where each thread costs, instead of 256."""
    if SIMULATED:
        from gpukit.ranking import gpu
        from gpukit.ranking.kernels import matrix, pair_sums, rows

        for module in (gpu, rows, matrix, pair_sums):
            monkeypatch.setattr(module, "THREADS", 64)
            monkeypatch.setattr(module, "WARPS", 2, raising=False)


def documents(at, n, dtype=np.float64, seed=0):
    """Return (X (l, n), w (n,)) with X w = at.s exactly (in float64): the first feature is the score."""
    X = np.random.default_rng(seed).normal(size=(len(at.y), n)).astype(dtype)
    X[:, 0] = at.s
    return X, np.eye(n)[0]


def problem_of(at, X, arity=None, weights=None, own=None, gains=None):
    """Return the Problem of queries of `inputs`; arity: forced on the level tree; own, gains (l,): of documents."""
    weights = np.ones(len(at.offsets) - 1) if weights is None else weights
    return Problem(X, build_tree(at.y, at.offsets, arity), weights, own, gains)


def own_weights(at, seed=0):
    """Return (l,) weights of documents, a third of them 0."""
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, size=len(at.y)) * (rng.random(len(at.y)) < 0.67)


def ranks_of(made):
    """Return the problem.Ranks of a LevelTree."""
    return Ranks(made.query, made.rank_level, made.first_group, made.group_starts)


def weights_of(at, seed=0):
    """Return (m,) weights, one of them 0."""
    weights = np.random.default_rng(seed).uniform(0.5, 2, len(at.offsets) - 1)
    weights[len(weights) // 2] *= len(weights) < 2
    return weights


def sums_by_levels(y, s, u, offsets):
    """Return naive.pair_sums of scores that are multiples of 1/4, one level at a time: for long queries."""
    plus, minus = np.zeros((2, len(y)))
    for begin, end in zip(offsets[:-1], offsets[1:]):
        own = np.arange(begin, end)
        for level in set(y[own]):
            here = own[y[own] == level]
            here = here[np.argsort(s[here])]
            sums = np.append(0.0, np.cumsum(u[here]))
            lower, higher = own[y[own] < level], own[y[own] > level]
            plus[lower] += sums[np.searchsorted(s[here], s[lower] + 1)]
            minus[higher] += sums[-1] - sums[np.searchsorted(s[here], s[higher] - 1, "right")]
    return plus, minus


def expected_walk(at, X, w, v, margin, weights, pair_sums=naive.pair_sums, own=1.0):
    """Return (row (n + 1,), scale (n + 1,)): walk(v, margin) after move(w), and the size of its summands.

    own (l,): weights of documents.
    """
    X = X.toarray().astype(np.float64) if hasattr(X, "toarray") else X.astype(np.float64)
    s, u, weight = X @ w, X @ v, np.repeat(weights, np.diff(at.offsets)) * own
    above, below = pair_sums(at.y, s, np.ones(len(s)) * own, at.offsets)
    plus, minus = pair_sums(at.y, s, u * own, at.offsets)
    product = (above + below) * u - plus - minus
    z = weight * (product - margin * (below - above))
    loss = weight @ (u * (product - 2 * margin * (below - above)) + margin * (above + below) / 2)
    sizes = np.add(*pair_sums(at.y, s, abs(u) * own, at.offsets)) + (above + below) * (abs(u) + margin)
    scale = np.append(abs(X).T @ (weight * sizes), weight @ ((abs(u) + margin) * sizes))
    return np.append(X.T @ z, loss), scale


def assert_close(found, expected, relative=1e-12):
    """Compare found with the result of expected_walk, number by number."""
    row, scale = expected
    error = np.abs(found - row) / np.maximum(scale, np.finfo(float).tiny)
    assert found.shape == row.shape and error.max() <= relative, f"relative error {error.max():.3g}"


def sums_by_tables(session, u):
    """Return (plus, minus) of a LevelTreeSums's tables: sums of u over the ranges of documents above and below."""
    level_tree, tables = session.problem.tree, np.asarray(session.partners.tables).astype(int)
    sums = np.zeros((2, len(u)))
    for t, height in enumerate(level_tree.heights):
        own = slice(level_tree.offsets[t], level_tree.offsets[t + 1])
        for plane in tables[:height, :, own]:
            prefix = np.append(0.0, np.cumsum(u[own][plane[0]]))
            for bound, position in zip(plane[1::2], plane[2::2]):
                part = prefix[position] - prefix[bound]
                sums[0, own] += np.where(bound < position, part, 0.0)
                sums[1, own] -= np.where(bound < position, 0.0, part)
    return sums
