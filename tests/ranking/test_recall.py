"""Scores of combinations of vectors, against products with all documents."""

import numpy as np
import pytest

from gpukit.ranking.blocks import MOST, Recall

X = np.random.default_rng(0).normal(size=(50, 30))


def recall_of(vectors):
    """Return a Recall with the scores of vectors."""
    recall = Recall()
    for v in vectors:
        scores = X @ v
        recall.add(v, scores)
        v[:], scores[:] = np.nan, np.nan  # it keeps copies
    return recall


def combined(recall, w):
    """Return the scores of w, None if it is no combination."""
    out = np.full(len(X), np.nan)
    return out if recall.combine(w, out) else None


@pytest.mark.parametrize("sizes", [1.0, 10.0 ** np.arange(-6, 6, 3)])
def test_scores_of_combinations(sizes):
    """As conjugate gradients add up directions, whose features and lengths differ by orders of magnitude."""
    rng = np.random.default_rng(1)
    directions = rng.normal(size=(4, 30)) * 10.0 ** rng.uniform(-8, 8, 30) * np.reshape(sizes, (-1, 1))
    recall, w = recall_of(directions.copy()), np.zeros(30)
    assert not combined(recall, w).any()
    for factor, direction in zip((0.7, -1.3, 2.0, 1e-3), directions):
        w = w + factor * direction
        np.testing.assert_allclose(combined(recall, w), X @ w, rtol=0, atol=1e-14 * (abs(X) @ abs(w)).max())


def test_other_vectors_are_no_combinations():
    directions = np.random.default_rng(2).normal(size=(3, 30))
    directions[:, 7] = 0.0
    recall, w = recall_of(directions.copy()), directions.sum(axis=0)
    assert combined(Recall(), w) is None and combined(recall, w) is not None
    for f in range(30):
        changed = w.copy()
        changed[f] += 1e-300 if f == 7 else 1e-13
        assert combined(recall, changed) is None
        changed[f] = np.inf
        assert combined(recall, changed) is None


def test_combinations_that_cancel_are_none():
    first, other = np.random.default_rng(3).normal(size=(2, 30))
    recall = recall_of([first.copy(), first + 1e-3 * other])
    assert combined(recall, first) is not None
    assert combined(recall, (first + 1e-3 * other) - first) is None


def test_the_oldest_vectors_go():
    vectors = np.random.default_rng(4).normal(size=(MOST + 1, 30))
    recall = recall_of(vectors[:MOST].copy())
    assert combined(recall, vectors[0]) is not None
    recall.add(vectors[MOST], X @ vectors[MOST])
    assert combined(recall, vectors[0]) is None and combined(recall, vectors[MOST]) is not None
