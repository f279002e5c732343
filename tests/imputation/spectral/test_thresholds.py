"""Start and decay of thresholds, and the choice of ranks."""

import numpy as np
import pytest

from gpukit.errors import ParameterError
from gpukit.imputation.spectral.path import (
    Options,
    choose_ranks,
    count_leading,
    decay_of,
    first_thresholds,
    next_momentum,
)

MU = np.array([0.0, 0.5, 1.0, 1.6])
LARGEST = np.array([8.0, 1.0, 3.0, 2.0])


def test_slices_start_at_their_own_largest_value():
    np.testing.assert_array_equal(first_thresholds("slice", 1.0, MU, LARGEST), LARGEST)
    np.testing.assert_array_equal(first_thresholds("common", 1.0, MU, LARGEST), [8.0] * 4)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0])
def test_frequency_thresholds_grow_with_the_eigenvalue(exponent):
    lam = first_thresholds("frequency", exponent, MU, LARGEST)
    weight = np.array([(0.05 + mu / 1.6) ** exponent for mu in MU])
    np.testing.assert_allclose(lam / lam[3], weight / weight[3])
    assert np.all(lam >= LARGEST * (1 - 1e-12)) and np.isclose(lam, LARGEST).any()


def test_a_graph_without_frequencies_and_a_wrong_name():
    assert np.isfinite(first_thresholds("frequency", 1.0, np.zeros(2), np.ones(2))).all()
    with pytest.raises(ParameterError, match="weights must be one of 'slice', 'common', 'frequency'; got 'rare'"):
        first_thresholds("rare", 1.0, MU, LARGEST)


def test_a_path_ends_at_a_thousandth():
    for iterations in (1, 7, 20, 100):
        assert decay_of(Options(iterations)) ** iterations == pytest.approx(1e-3)


def test_momentum_is_that_of_fista():
    t, weights = 1.0, []
    for _ in range(4):
        t, beta = next_momentum(t)
        weights.append(beta)
    np.testing.assert_allclose(weights, [0.0, 0.2817, 0.4340, 0.5311], atol=1e-4)


def spectra(ranks, side, noise, seed=0):
    """Return (K, count) singular values of square slices of these ranks with noise."""
    rng = np.random.default_rng(seed)
    slices = [
        rng.normal(size=(side, r)) @ rng.normal(size=(r, side)) + noise * rng.normal(size=(side, side)) for r in ranks
    ]
    return np.linalg.svd(np.array(slices), compute_uv=False)[:, : count_leading(side)]


@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.01])
def test_ranks_are_where_values_fall(noise):
    ranks = np.array([1, 2, 3, 4, 1, 2, 3, 4, 2, 2])
    chosen = choose_ranks(spectra(ranks, 12, noise), 1e-12)
    assert chosen.clear and chosen.is_clear.all()
    np.testing.assert_array_equal(chosen.ranks, ranks)


def test_unclear_slices_take_the_common_rank_and_clear_ones_keep_theirs():
    values = np.concatenate((spectra([2] * 19 + [5], 12, 1e-4), spectra([5], 12, 0.2)))
    chosen = choose_ranks(values, 1e-12)
    np.testing.assert_array_equal(chosen.ranks, [2] * 19 + [5, 2])
    assert chosen.clear and chosen.is_clear.all()


def test_a_common_rank_is_detected_in_noise():
    rng = np.random.default_rng(0)
    values = -np.sort(-np.where(np.arange(7) < 3, 3.3, 1.0) * rng.uniform(0.8, 1.2, (60, 7)), axis=1)
    ratios = values[:, :-1] / values[:, 1:]
    assert (ratios[:, 2] < 3).mean() > 0.5
    chosen = choose_ranks(values, 1e-12)
    assert chosen.clear and (chosen.ranks == 3).all()


def test_slices_that_tell_nothing_are_left_as_they_are():
    values = np.concatenate((spectra([1, 2, 3, 2, 1, 3, 2, 1, 2], 12, 1e-3), spectra([12], 12, 0.0)))
    chosen = choose_ranks(values, 1e-12)
    assert chosen.clear and not chosen.is_clear[-1] and chosen.is_clear[:-1].all()


@pytest.mark.parametrize(
    "values",
    [
        spectra([12] * 8, 12, 0.0),
        1.0 / np.arange(1, 8)[None].repeat(6, 0),
        0.6 ** np.arange(7)[None].repeat(6, 0),
        0.2 ** np.arange(7)[None].repeat(6, 0),
        1.0 / np.arange(1, 8)[None].repeat(6, 0) ** 2,
        np.zeros((4, 7)),
    ],
    ids=["gaussian", "harmonic", "geometric", "fast", "squares", "zero"],
)
def test_no_rank_where_none_stands_out(values):
    assert not choose_ranks(values, 1e-12).clear


def test_zero_slices_have_rank_zero_and_no_vote():
    values = spectra([2, 2, 2], 12, 1e-3)
    values = np.concatenate((values, np.zeros((7, values.shape[1])), 1e-14 * values))
    chosen = choose_ranks(values, 1e-12)
    assert chosen.clear
    np.testing.assert_array_equal(chosen.ranks, [2] * 3 + [0] * 10)


def test_small_slices():
    assert [count_leading(side) for side in (1, 2, 3, 4, 50)] == [0, 2, 2, 3, 26]
    assert (choose_ranks(np.array([[5.0, 0.1], [4.0, 0.2]]), 1e-12).ranks == 1).all()
