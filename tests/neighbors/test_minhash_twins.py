"""Codes on the CPU against minima of hashes of sets in Python; the estimate by agreement."""

import numpy as np
import pytest

from gpukit.neighbors import cpu, run
from gpukit.neighbors.plan import Settings
from gpukit.ratings import Ratings
from neighbors.inputs import SHAPES, case, columns, unpack
from neighbors.minhash_inputs import oracle_codes


@pytest.mark.parametrize("name", sorted(set(SHAPES) - {"more than 128 words"}))
def test_codes_are_bits_of_least_hashes(name):
    made, table, settings, _ = case(name)
    codes, expected = run.minhash_codes(cpu, table, settings), oracle_codes(made, settings)
    rated = np.diff(table.indptr) > 0
    np.testing.assert_array_equal(unpack(codes, settings.n_bits)[rated], expected[rated])
    assert not unpack(codes, 32 * settings.n_words)[:, settings.n_bits :].any(), "unused high bits must stay zero"


def test_hashings_of_more_than_32_bits():
    made, table, _, _ = case("unused high bits")
    settings = Settings(1, 1, 3, 45)
    rated = np.diff(table.indptr) > 0
    np.testing.assert_array_equal(
        unpack(run.minhash_codes(cpu, table, settings), 135)[rated], oracle_codes(made, settings)[rated]
    )


def test_agreement_tells_the_jaccard_similarity():
    """J of the hashings agree, and (1 + J) / 2 of the bits; the ratings themselves do not matter."""
    users, items = np.array([*range(0, 60), *range(20, 80)], np.int32), np.repeat(np.int32([0, 1]), 60)
    values = np.random.default_rng(0).integers(1, 6, 120).astype(np.float32)
    table = columns(Ratings(users, items, values, np.arange(80), np.arange(2)))
    settings = Settings(1, 4, 1000, 8)
    first, second = unpack(run.minhash_codes(cpu, table, settings), settings.n_bits).reshape(2, -1, 8)
    assert abs((first == second).all(axis=1).mean() - 40 / 80) < 0.04
    assert abs((first == second).mean() - 0.75) < 0.02


def test_keys_differ():
    assert len({int(key) for seed in (0, 1, 2**40) for key in run.hashing_keys(seed, 700)}) > 2090
