"""Group sums and rows over lanes, each in a kernel of a few lines."""

import numpy as np
import pytest
from support import launch

pytestmark = pytest.mark.kernel

from gpukit._cuda import SIMULATED, cuda, kernel
from gpukit.primitives.rows import add_row, add_stored, as_floats, load_row, load_stored, partial_dot
from gpukit.primitives.warp import group_max, group_pick, group_sum

U32 = np.uint32
LANES = [1, 2, 8, 16, 32]


def make_groups(lanes, source):
    """Return a kernel that writes sum, maximum and one lane's value of every group to out (3, n)."""

    @kernel(cache=False)
    def groups(values, out):
        t = cuda.grid(1)
        value = values[t]
        out[0, t] = group_sum(value, lanes)
        out[1, t] = group_max(value, lanes)
        out[2, t] = group_pick(value, source, lanes)

    return groups


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
@pytest.mark.parametrize("lanes", LANES)
def test_groups(lanes, dtype):
    values = np.random.default_rng(0).integers(-99, 99, 96).astype(dtype)
    out, source = np.zeros((3, 96), dtype), lanes - 1
    launch(make_groups(lanes, source), 1, 96, values, out)
    groups = values.reshape(-1, lanes)
    for found, expected in zip(out, (groups.sum(axis=1), groups.max(axis=1), groups[:, source])):
        np.testing.assert_array_equal(found.reshape(-1, lanes), np.repeat(expected[:, None], lanes, axis=1))


def make_move(lanes, count, first, vector):
    """Return a kernel: group g adds row g of one matrix, from `first` on, to another's and writes their dot product."""

    @kernel(cache=False)
    def move(source, target, dots):
        lane, row = U32(U32(cuda.threadIdx.x) % U32(lanes)), U32(cuda.grid(1) // lanes)
        mine = cuda.local.array(count, np.float32)
        other = cuda.local.array(count, np.float32)
        load_row(source, row, U32(first), lane, lanes, count, mine)
        load_row(target, row, U32(first), lane, lanes, count, other)
        total = group_sum(partial_dot(mine, other, count), lanes)
        if lane == U32(0):
            dots[row] = total
        add_row(target, row, U32(first), lane, lanes, count, vector, mine)

    return move


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("lanes, count, first", [(8, 4, 0), (8, 16, 4), (16, 8, 12), (32, 4, 0), (1, 8, 4)])
def test_rows(lanes, count, first, vector):
    if vector and not (SIMULATED or tuple(cuda.get_current_device().compute_capability) >= (9, 0)):
        pytest.skip("vector additions need compute capability 9.0")
    rng, rows, end = np.random.default_rng(1), 64 // lanes, first + lanes * count
    source, target = (rng.integers(-9, 9, (rows, end + 8)).astype(np.float32) for _ in range(2))
    before, dots = target.copy(), np.zeros(rows, np.float32)
    launch(make_move(lanes, count, first, vector), 2, 32, source, target, dots)
    moved = np.zeros_like(source)
    moved[:, first:end] = source[:, first:end]
    np.testing.assert_array_equal(target, before + moved)
    np.testing.assert_array_equal(dots, (source[:, first:end] * before[:, first:end]).sum(axis=1))


def make_move_halves(lanes, count, vector):
    """Return a kernel: group g adds row g of a float32 matrix to one of halves and copies its previous content."""

    @kernel(cache=False)
    def move_halves(source, target, before):
        lane, row = U32(U32(cuda.threadIdx.x) % U32(lanes)), U32(cuda.grid(1) // lanes)
        mine = cuda.local.array(count, np.float32)
        stored = cuda.local.array(count, np.float32)
        load_stored(target, row, lane, lanes, count, True, stored)
        as_floats(stored, count, True, mine)
        add_row(before, row, U32(0), lane, lanes, count, False, mine)
        load_row(source, row, U32(0), lane, lanes, count, mine)
        add_stored(target, row, lane, lanes, count, True, vector, mine)

    return move_halves


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("lanes, count", [(8, 4), (16, 8), (32, 4), (1, 8)])
def test_rows_of_halves(lanes, count, vector):
    """To the bit: sums that are not float16 numbers, ties, steps too small to count, subnormal numbers, signs."""
    if vector and not (SIMULATED or tuple(cuda.get_current_device().compute_capability) >= (9, 0)):
        pytest.skip("vector additions need compute capability 9.0")
    rng, rows, n = np.random.default_rng(1), 64 // lanes, lanes * count
    sizes = 2.0 ** rng.integers(-24, 10, (2, rows, n))
    source = (rng.normal(size=(rows, n)) * sizes[0]).astype(np.float32)
    halves = (rng.normal(size=(rows, n)) * sizes[1]).astype(np.float16)
    source[0, :4], halves[0, :4] = (2.0**-11, 3 * 2.0**-11, 2.0**-12, -(2.0**-12)), 1
    target = np.concatenate([halves.view(np.float32), np.full((rows, 8), 7, np.float32)], axis=1)
    before = np.zeros((rows, n), np.float32)
    launch(make_move_halves(lanes, count, vector), 2, 32, source, target, before)
    np.testing.assert_array_equal(before, halves.astype(np.float32))
    sums = halves + source.astype(np.float16)
    np.testing.assert_array_equal(target[:, :-8].view(np.float16), sums)
    assert sums[0, :4].tolist() == [1, 1 + 2.0**-9, 1, 1]  # ties go to the even number
    assert (target[:, -8:] == 7).all()


@kernel(cache=False)
def pile_up(values, target):
    lane = U32(cuda.laneid)
    mine = cuda.local.array(4, np.float32)
    for i in range(4):
        mine[i] = values[i]
    add_row(target, U32(0), U32(0), U32(lane % U32(8)), 8, 4, False, mine)


def test_additions_of_many_threads_all_count():
    values, target = np.array([1, 2, 3, 4], np.float32), np.zeros((1, 32), np.float32)
    launch(pile_up, 3, 64, values, target)
    np.testing.assert_array_equal(target[0], np.tile(values * 24, 8))
