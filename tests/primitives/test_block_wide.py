"""Sums and running sums over a block, and reads of four numbers, each in a kernel of a few lines."""

import numpy as np
import pytest
from support import launch, launch_repeatably

pytestmark = pytest.mark.kernel

from gpukit._cuda import cuda, kernel
from gpukit.primitives.block import block_prefix, block_sum
from gpukit.primitives.wide import keep_policy, leave_policy, read4, read4_hinted

U32 = np.uint32


def make_prefix(warps):
    """Return a kernel of two consecutive running sums: of the values, and of the first sums."""

    @kernel(cache=False)
    def prefix(values, out):
        parts = cuda.shared.array(warps, np.float64)
        i = cuda.threadIdx.x
        out[0, i] = block_prefix(values[i], warps, parts)
        cuda.syncthreads()
        out[1, i] = block_prefix(out[0, i], warps, parts)

    return prefix


@pytest.mark.parametrize("warps", [1, 2, 8])
def test_block_prefix(warps):
    values = np.random.default_rng(warps).integers(-99, 99, 32 * warps).astype(np.float64)
    out = np.full((2, 32 * warps), np.nan)
    launch(make_prefix(warps), 1, 32 * warps, values, out)
    first = np.append(0, np.cumsum(values)[:-1])
    np.testing.assert_array_equal(out, [first, np.append(0, np.cumsum(first)[:-1])])


def make_sum(warps):
    """Return a kernel in which every thread writes the block's sum of the values."""

    @kernel(cache=False)
    def total(values, out):
        parts = cuda.shared.array(warps, np.float64)
        out[cuda.threadIdx.x] = block_sum(values[cuda.threadIdx.x], warps, parts)

    return total


@pytest.mark.parametrize("warps", [1, 2, 8])
def test_block_sum(warps):
    values = np.random.default_rng(warps).integers(-99, 99, 32 * warps).astype(np.float64)
    out = np.full(32 * warps, np.nan)
    launch_repeatably(make_sum(warps), 1, 32 * warps, values, out)
    np.testing.assert_array_equal(out, values.sum())


@kernel(cache=False)
def copy_quads(source, plain, kept, left):
    """Each thread copies four numbers of each row."""
    column = U32(U32(4) * U32(cuda.threadIdx.x))
    row = U32(cuda.blockIdx.x)
    keep, leave = keep_policy(), leave_policy()
    quads = read4(source, row, column), read4_hinted(source, row, column, keep)
    for i in range(4):
        plain[row, U32(column + U32(i))] = quads[0][i]
        kept[row, U32(column + U32(i))] = quads[1][i]
    quad = read4_hinted(source, row, column, leave)
    for i in range(4):
        left[row, U32(column + U32(i))] = quad[i]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_quads(dtype):
    source = np.random.default_rng(0).normal(size=(5, 12)).astype(dtype)
    copies = [np.zeros_like(source) for _ in range(3)]
    launch(copy_quads, 5, 3, source, *copies)
    for copy in copies:
        np.testing.assert_array_equal(copy, source)
