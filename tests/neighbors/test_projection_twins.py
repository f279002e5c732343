"""Codes on the CPU against signs of dot products in float64; the directions; angles between columns."""

import numpy as np
import pytest

from gpukit.neighbors import cpu, run
from gpukit.neighbors.plan import Settings
from gpukit.ratings import Ratings
from neighbors.inputs import SHAPES, case, columns, ratings, unpack
from neighbors.projection_inputs import directions, oracle_codes


@pytest.mark.parametrize("name", sorted(set(SHAPES) - {"more than 128 words"}))
def test_codes_are_signs_of_projections(name):
    made, table, settings, chunk = case(name)
    codes = run.projection_codes(cpu, table, settings, chunk)
    np.testing.assert_array_equal(unpack(codes, settings.n_bits), oracle_codes(made, settings))
    assert not unpack(codes, 32 * settings.n_words)[:, settings.n_bits :].any(), "unused high bits must stay zero"


def test_coordinates_are_normal_and_uncorrelated():
    settings = Settings(1, 2, 4, 4, seed=3)
    found = directions(4096, settings) / np.sqrt((256**2 - 1) / 3)
    assert np.abs(found.mean(axis=0)).max() < 4.5 / 64 and np.abs(found.std(axis=0) - 1).max() < 0.06
    kurtosis = (found**4).mean()
    assert 2.6 < kurtosis < 2.8  # Irwin-Hall of four: 2.7
    products = found.T @ found / 4096
    np.fill_diagonal(products, 0)
    assert np.abs(products).max() < 4.9 / 64
    assert np.abs((found[1:] * found[:-1]).mean(axis=0)).max() < 4.5 / 64


def test_agreement_tells_the_angle():
    """1 - angle / pi of the bits agree, for columns with any small number of raters."""
    users, items = np.array([0, 1, 0, 1, 1, 2], np.int32), np.array([0, 0, 1, 1, 2, 2], np.int32)
    made = Ratings(users, items, np.float32([5, 3, 3, 5, 2, 2]), np.arange(3), np.arange(3))
    settings = Settings(1, 1, 2500, 8)
    bits = unpack(run.projection_codes(cpu, columns(made), settings), settings.n_bits)
    X = np.zeros((3, 3))
    X[made.items, made.users] = made.values
    X /= np.linalg.norm(X, axis=1)[:, None]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert abs((bits[a] == bits[b]).mean() - (1 - np.arccos(X[a] @ X[b]) / np.pi)) < 0.015


def test_the_seed_changes_the_directions():
    table = columns(ratings(40, 20, 0.5, [1, 2, 3], seed=2))
    first, second = (run.projection_codes(cpu, table, Settings(3, 2, 8, 4, seed=seed)) for seed in (0, 1))
    assert (first != second).mean() > 0.9
    assert len({int(key) for seed in (0, 1, 2**40) for key in run.direction_keys(seed, 700)}) > 2090
