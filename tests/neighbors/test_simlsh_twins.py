"""Codes on the CPU against Eq. (3) in plain loops, equal to the bit; the bits of users."""

import numpy as np
import pytest

from gpukit.neighbors import cpu, run
from gpukit.neighbors.plan import Settings
from neighbors.inputs import SHAPES, case, columns, oracle_codes, ratings, unpack, user_signs


@pytest.mark.parametrize("name", SHAPES)
def test_codes_are_equation_3(name):
    made, table, settings, chunk = case(name)
    codes = run.simlsh_codes(cpu, table, settings, chunk)
    np.testing.assert_array_equal(unpack(codes, settings.n_bits), oracle_codes(made, settings))
    used = unpack(codes, 32 * settings.n_words)
    assert not used[:, settings.n_bits :].any(), "unused high bits must stay zero"


def test_the_seed_changes_the_hashes():
    table = columns(ratings(40, 20, 0.5, [1, 2, 3], seed=2))
    first, second = (run.simlsh_codes(cpu, table, Settings(3, 2, 8, 4, seed=seed)) for seed in (0, 1))
    assert (first != second).mean() > 0.9


def test_user_bits_are_fair_and_uncorrelated():
    settings = Settings(1, 2, 4, 8, seed=3)  # 64 bits
    signs = user_signs(4096, settings).astype(float)
    assert np.abs(signs.mean(axis=0)).max() < 4.5 / np.sqrt(4096)
    products = signs.T @ signs / 4096
    np.fill_diagonal(products, 0)
    assert np.abs(products).max() < 4.9 / np.sqrt(4096)  # 2016 pairs
    assert np.abs((signs[1:] * signs[:-1]).mean(axis=0)).max() < 4.5 / np.sqrt(4096)
