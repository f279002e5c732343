"""Small series with gaps at their beginning, inside and at their end."""

from types import SimpleNamespace

import numpy as np

from gpukit.imputation.local import MaskedProblem


def masked_problem(vertices=5, columns=17, near=3, seed=0):
    """Return (local.MaskedProblem, series (vertices + 1, columns), near (vertices, near))."""
    rng = np.random.default_rng(seed)
    seen = rng.random((vertices, columns)) > 0.5
    seen[0] = False
    seen[0, 3] = seen[1, 0] = seen[2:, 5] = True
    seen[2, :5] = True, False, False, True, False  # a value whose second predecessor is the first of all
    values = np.where(seen, rng.normal(size=seen.shape), 0).astype(np.float32)
    places = np.arange(columns)
    before = np.array([[max(places[:t][row[:t]], default=-1) for t in places] for row in seen], np.int32)
    after = np.array([[min(places[t + 1 :][row[t + 1 :]], default=columns) for t in places] for row in seen], np.int32)
    problem = SimpleNamespace(values=values, seen=seen, at=np.cumsum(rng.integers(1, 4, columns)).astype(float))
    series = rng.normal(size=(vertices + 1, columns)).astype(np.float32)
    part = MaskedProblem(None, problem, None, series[:vertices], before, after)
    return part, series, rng.integers(0, vertices + 1, (vertices, near))


def groups(counts, size, seed=0):
    """Return (features, targets, first, start, pull, group) of groups with two starts."""
    rng = np.random.default_rng(seed)
    first = np.r_[0, np.cumsum(counts)].astype(np.int64)
    features = rng.normal(size=(first[-1], size)).astype(np.float32)
    targets = (features @ rng.normal(size=size) + 0.3 * rng.normal(size=first[-1])).astype(np.float32)
    start, pull = rng.normal(size=(2, size)), rng.uniform(1, 9, (2, size))
    return features, targets, first, start, pull, (np.arange(len(counts)) % 2).astype(np.int32)
