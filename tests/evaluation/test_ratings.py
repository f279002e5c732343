"""Errors of biases, and rated rows, against numpy over all ratings at once."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpukit.evaluation.ratings import bias_errors, rated_rows

SHAPE = 7, 5


class Triples(SimpleNamespace):
    def __len__(self):
        return len(self.values)


@pytest.mark.parametrize("n", [1, 63, 200_003])
def test_errors_of_parts_are_those_of_all(n):
    rng = np.random.default_rng(n)
    users, items = (rng.integers(0, size, n).astype(np.int32) for size in SHAPE)
    triples = Triples(users=users, items=items, values=rng.normal(3, 2, n).astype(np.float32))
    of_users, of_items = (rng.normal(size=size) for size in SHAPE)
    scores = bias_errors(triples, (of_users, of_items), (2.5, 3.25), (2.0, 4.0))
    predicted = np.clip(3.25 + of_users[users] + of_items[items], 2.0, 4.0)
    for score, error in zip(scores, (triples.values - np.float64(2.5), triples.values - predicted)):
        assert score == pytest.approx({"rmse": np.sqrt(np.mean(error**2)), "mae": np.abs(error).mean()}, rel=1e-12)


@pytest.mark.parametrize("n", [0, 1, 100_000])
def test_rated_rows_are_those_that_occur(n):
    rows = np.random.default_rng(n).choice([0, 3, 4, 6], n).astype(np.int32)
    assert rated_rows(rows, 8).tolist() == np.isin(np.arange(8), rows).tolist()
