"""Least squares over ranks, bit-identical to one process.

Each rank solves for some rows.
"""

import functools
import re

import numpy as np
import pytest
from parallel.test_team import together

from factorization.shared.data import ratings
from factorization.shared.test_ranks import same
from gpukit.errors import ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.shared.partition import spans_of
from gpukit.ratings import synth_ratings

RATINGS = {"solver": "als", "n_factors": 5, "n_epochs": 3, "regularization": 0.05}
CLICKS = {"feedback": "implicit", "solver": "ials", "n_epochs": 2, "regularization": 0.01, "unobserved_weight": 0.1}


@functools.cache
def table():
    """4,000 ratings; some users and items have none."""
    generated = synth_ratings("ml-10m", 0.0004, 3)
    return generated.take((generated.users % 7 != 3) & (generated.items % 11 != 5))


def alike(size, model, settings, **named):
    """Models of all ranks, equal to that of one process."""
    make = functools.partial(model, device="cpu", **settings)
    alone = make().fit(table(), **named)
    done = together(size, lambda team: make().fit(table(), team=team, **named))
    assert not any(isinstance(one, Exception) for one in done), done
    same(done, alone)
    for one in done:
        for its, own in zip(one._rated, alone._rated, strict=True):
            np.testing.assert_array_equal(its, own)


@pytest.mark.parametrize("size", [2, 4])
def test_ratings(size):
    alike(size, MatrixFactorization, RATINGS)


def test_ratings_with_weights():
    weights = np.random.default_rng(0).integers(0, 4, len(table())).astype(np.float64)
    alike(3, MatrixFactorization, RATINGS, sample_weight=weights)


@pytest.mark.parametrize("n_factors", [6, 40], ids=["cholesky", "gradients"])
def test_clicks(n_factors):
    alike(2, MatrixFactorization, {**CLICKS, "n_factors": n_factors})


def test_clicks_of_a_model_that_could_have_neighbours():
    alike(4, LSHMF, {**CLICKS, "n_factors": 6})


def test_what_is_open_is_chosen_once():
    alike(2, MatrixFactorization, {"solver": "als", "n_epochs": 2})


@pytest.mark.parametrize("solver", ["auto", "sampled"])
def test_clicks_that_are_refused(solver):
    for error in together(
        2, lambda team: MatrixFactorization(feedback="implicit", solver=solver).fit(table(), team=team)
    ):
        assert isinstance(error, ParameterError) and "\n" not in str(error)
        assert re.search(f"solver='ials' alone; got solver='{solver}'", str(error))


def test_more_ranks_than_rows():
    few = ratings(shape=(2, 3), n=5)
    make = functools.partial(MatrixFactorization, device="cpu", **{**RATINGS, "n_factors": 1})
    same(together(4, lambda team: make().fit(few, team=team)), make().fit(few))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_spans_are_even_and_all_rows(size):
    counts = np.random.default_rng(1).geometric(0.02, 400) - 1
    spans = spans_of(counts, 8, size)
    assert [row for span in spans for row in range(*span)] == list(range(400))
    work = [np.where(counts[slice(*span)], counts[slice(*span)] + 4, 0).sum() for span in spans]
    assert max(work) - min(work) <= 2 * (counts.max() + 4)
