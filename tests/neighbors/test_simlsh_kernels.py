"""Codes by the kernels, launched by the host step, against Eq. (3) in plain loops and the twins."""

import numpy as np
import pytest

from neighbors.inputs import case, columns, columns_on_device, oracle_codes, ratings, unpack

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit._cuda import cuda
from gpukit.neighbors import cpu, gpu, run
from gpukit.neighbors.plan import Columns, Settings
from gpukit.neighbors.run import CHUNK, level_weights

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
    codes = run.simlsh_codes(gpu, columns_on_device(table), settings, chunk).copy_to_host()
    np.testing.assert_array_equal(codes, run.simlsh_codes(cpu, table, settings, chunk))


@pytest.mark.parametrize("name", ["unused high bits", "negative and zero", "one rating a chunk", "codes of 72 bits"])
def test_codes_are_equation_3(name):
    made, table, settings, chunk = case(name)
    found = run.simlsh_codes(gpu, columns_on_device(table), settings, chunk).copy_to_host()
    np.testing.assert_array_equal(unpack(found, settings.n_bits), oracle_codes(made, settings))
    assert not unpack(found, 32 * settings.n_words)[:, settings.n_bits :].any(), "unused high bits must stay zero"


def halves(table, draw):
    """Return two Columns, with each rating in one of them."""
    first = draw.random(len(table.users)) < 0.6
    item = np.repeat(np.arange(len(table.indptr) - 1), np.diff(table.indptr))
    for mine in (first, ~first):
        counts = np.bincount(item[mine], minlength=len(table.indptr) - 1)
        indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        yield Columns(indptr, table.users[mine], table.levels[mine], table.values)


@pytest.mark.parametrize("case", CASES)
def test_sums_that_are_added_to(case):
    """Columns added in parts, one of them removed and added again, have the codes of the whole."""
    shape, settings, chunk = CASES[case]
    table = columns(ratings(*shape, seed=3))
    parts, weights = list(halves(table, np.random.default_rng(0))), level_weights(table.values, settings.psi)
    slices, n_items = run.whole_slices(run.sum_slices(3 * table.indptr, weights)), len(table.indptr) - 1
    sizes = (n_items, slices, settings.n_words), (n_items,), (n_items, settings.n_words)
    kept = run.Sums(*(np.zeros(size, kind) for size, kind in zip(sizes, (np.uint32, np.int64, np.uint32))))
    there = run.Sums(*map(cuda.to_device, kept))
    for part, sign in ((parts[0], 1), (parts[1], 1), (parts[0], -1), (parts[0], 1)):
        cpu.add_columns(part, sign * weights, settings, kept, chunk)
        gpu.add_columns(columns_on_device(part), sign * weights, settings, there, chunk)
    for mine, other in zip(kept, there):
        np.testing.assert_array_equal(other.copy_to_host(), mine)
    rated = np.diff(table.indptr) > 0
    np.testing.assert_array_equal(kept.codes[rated], run.simlsh_codes(cpu, table, settings, chunk)[rated])
