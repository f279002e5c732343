"""Codes by the kernels, launched by the host step, against Eq. (3) in plain loops and the twins."""

import numpy as np
import pytest

from neighbors.inputs import case, columns, columns_on_device, oracle_codes, ratings, unpack

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.neighbors.hashes.simlsh import cpu, gpu
from gpukit.neighbors.hashes.work import CHUNK
from gpukit.neighbors.plan import Settings

CASES = {  # ratings(users, items, density, levels), settings, chunk
    "one hash bit": ((4, 3, 0.9, [1, 2]), Settings(2, 1, 1, 1), CHUNK),
    "unused high bits": ((9, 5, 0.6, [1, 3, 5]), Settings(2, 2, 5, 4), CHUNK),
    "all words full": ((9, 5, 0.6, [1, 3, 5]), Settings(2, 2, 4, 8, psi=4, seed=7), CHUNK),
    "long runs": ((47, 2, 1.0, [2, 4]), Settings(1, 1, 4, 8), CHUNK),
    "cut columns": ((47, 3, 0.9, [1, 2, 3]), Settings(2, 1, 4, 8, seed=2), 9),
    "negative ratings": ((20, 4, 0.8, [-3, -1, 0, 2]), Settings(3, 3, 3, 5, psi=1), 7),
    "half stars": ((20, 4, 0.8, [0.5, 1.5, 4.5]), Settings(2, 1, 5, 8), CHUNK),
}


@pytest.mark.parametrize("case", CASES)
def test_hash_codes(case):
    shape, settings, chunk = CASES[case]
    table = columns(ratings(*shape, seed=3))
    codes = gpu.hash_codes(columns_on_device(table), settings, chunk).copy_to_host()
    np.testing.assert_array_equal(codes, cpu.hash_codes(table, settings, chunk))


@pytest.mark.parametrize("name", ["unused high bits", "negative and zero", "one rating a chunk", "codes of 72 bits"])
def test_codes_are_equation_3(name):
    made, table, settings, chunk = case(name)
    found = gpu.hash_codes(columns_on_device(table), settings, chunk).copy_to_host()
    np.testing.assert_array_equal(unpack(found, settings.n_bits), oracle_codes(made, settings))
    assert not unpack(found, 32 * settings.n_words)[:, settings.n_bits :].any(), "unused high bits must stay zero"
