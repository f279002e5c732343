"""Regularized EM against plain loops, and on series with a fixed sum."""

import numpy as np
import pytest

from gpukit import GraphImputer
from gpukit.imputation import regularized_em as normal
from gpukit.imputation.auto.plan import BY_NAME
from imputation.auto.test_auto import asked
from imputation.regularized_em import naive

WIDE = np.array([-np.inf, np.inf])


def tied(count=6, columns=60, seed=0, share=0.2):
    """Return (truth, seen): series of two factors and their mask."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(count, 2)) @ rng.normal(size=(2, columns)) + 0.01 * rng.normal(size=(count, columns))
    seen = rng.random(truth.shape) >= share
    seen[:, :2] = True
    return truth, seen


@pytest.mark.parametrize("lags", [0, 1])
@pytest.mark.parametrize("count, columns", [(2, 5), (6, 33), (9, 8)])
def test_predictions_are_the_oracle_answers(count, columns, lags):
    truth, seen = tied(count, columns)
    start, limits = np.where(seen, truth, 0.5), np.tile(0.8 * WIDE.clip(-1, 1), (count, 1))
    out = normal.complete_series(start, seen, lags, 0.1, limits)
    wanted = naive.completed(start, seen, lags, 0.1, limits, 30, 3e-4)
    np.testing.assert_allclose(out, wanted, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(out[seen], truth[seen])


def test_limits_are_kept():
    truth, seen = tied()
    out = normal.complete_series(np.where(seen, truth, 0.0), seen, 0, 1e-3, np.tile([-0.1, 0.1], (6, 1)))
    assert np.abs(out[~seen]).max() == pytest.approx(0.1)


def test_constant_and_empty_vertices_do_no_harm():
    truth, seen = tied()
    truth[2], seen[4] = 7.0, False
    out = BY_NAME["regularized-em"].fill(asked(np.where(seen, truth, 0.0), seen), {"lags": 0, "ridge": 1e-5})
    assert np.isnan(out[4]).all() and np.isfinite(np.delete(out, 4, 0)).all()
    np.testing.assert_allclose(out[2], 7.0)


@pytest.mark.parametrize("lags", [0, 1])
def test_a_sweep_does_not_depend_on_the_order_of_the_vertices(lags):
    truth, seen = tied(share=0.4)
    order, setting = np.random.default_rng(0).permutation(6), {"lags": lags, "ridge": 1e-3}
    first, other = (
        BY_NAME["regularized-em"].fill(asked(np.where(mask, values, 0.0), mask), setting)
        for values, mask in ((truth, seen), (truth[order], seen[order]))
    )
    np.testing.assert_array_equal(other, first[order])


def test_it_suits_what_is_seen_in_part_alone():
    method, (truth, seen) = BY_NAME["regularized-em"], tied()
    assert method.suits(asked(truth, seen))
    whole = np.ones(seen.shape, bool)
    whole[1] = False
    assert not method.suits(asked(truth, whole))
    assert not method.suits(asked(truth[:1], seen[:1]))


@pytest.mark.slow
def test_a_part_is_predicted_from_the_others_and_their_sum():
    rng, columns = np.random.default_rng(1), 150
    parts = np.exp(rng.normal(size=(5, 1))) * np.cumsum(rng.normal(size=(5, columns)), axis=1)
    truth, seen = np.concatenate([parts, parts.sum(axis=0, keepdims=True)]), np.ones((6, columns), bool)
    for vertex in range(6):
        first = 20 * vertex + 5
        seen[vertex, first : first + 15] = False
    errors = {}
    for method in ("auto", "local", "interpolation"):
        model = GraphImputer(method=method, device="cpu").fit(None, truth, seen, times=np.arange(columns))
        errors[method] = np.abs(model.completed_ - truth)[~seen].mean()
    assert errors["auto"] < 0.3 * min(errors["local"], errors["interpolation"])
