"""Tests of the simulator: tiny kernels, one property each. On a GPU the same kernels must give the same results."""

import contextlib
from typing import NamedTuple

import numpy as np
import pytest
from support import SIMULATED, launch, launch_repeatably

from gpukit._cuda import cuda, kernel
from gpukit.primitives import warp
from gpukit.primitives.warp import group_sum

pytestmark = pytest.mark.kernel
FULL = 0xFFFFFFFF
LANES = np.arange(32)


@kernel
def shuffles(x, out):
    i = cuda.threadIdx.x
    out[0, i] = cuda.shfl_sync(FULL, x[i], 5)
    out[1, i] = cuda.shfl_up_sync(FULL, x[i], 3)
    out[2, i] = cuda.shfl_down_sync(FULL, x[i], 3)
    out[3, i] = cuda.shfl_xor_sync(FULL, x[i], 1)


def test_shuffles_move_values_within_each_warp():
    x, out = np.arange(64, dtype=np.float32), np.zeros((4, 64), np.float32)
    launch(shuffles, 1, 64, x, out)
    lanes = np.arange(64) % 32
    base = np.arange(64) - lanes
    np.testing.assert_array_equal(out[0], base + 5)
    np.testing.assert_array_equal(out[1], base + np.where(lanes < 3, lanes, lanes - 3))
    np.testing.assert_array_equal(out[2], base + np.where(lanes > 28, lanes, lanes + 3))
    np.testing.assert_array_equal(out[3], base + (lanes ^ 1))


class Scaled(NamedTuple):
    """Arrays and a number as one argument."""

    x: np.ndarray
    factor: np.float32
    out: np.ndarray


@kernel
def scales(scaled, ends):
    i = cuda.threadIdx.x
    scaled.out[i] = scaled.factor * scaled.x[i]
    ends.x[0] = ends.factor


def test_named_tuples_of_arrays_are_arguments():
    """Their arrays are copied back, except read-only ones."""
    x, out, constant = np.arange(40, dtype=np.float32), np.zeros(40, np.float32), np.zeros(1, np.float32)
    constant.flags.writeable = False
    launch(scales, 1, 40, Scaled(x, np.float32(3), out), Scaled(constant, np.float32(7), np.zeros(1, np.float32)))
    np.testing.assert_array_equal(out, 3 * x)
    assert constant[0] == 0


@kernel
def halves_and_whole(halves, whole):
    halves[0] = np.float16(1.5)
    whole[1] = np.float32(2)


def test_two_views_of_one_array_are_one_memory():
    whole = cuda.to_device(np.zeros(2, np.float32))
    halves_and_whole[1, 1](whole.view(np.float16), whole)
    np.testing.assert_array_equal(whole.copy_to_host(), [np.array([1.5, 0], np.float16).view(np.float32)[0], 2])


@kernel
def votes(x, out):
    i = cuda.threadIdx.x
    odd = x[i] % 2 == 1
    out[0, i] = cuda.ballot_sync(FULL, odd)
    out[1, i] = cuda.any_sync(FULL, x[i] == 40)
    out[2, i] = cuda.all_sync(FULL, x[i] < 32)
    out[3, i] = cuda.match_any_sync(FULL, np.int32(x[i] // 8))
    out[4, i] = cuda.eq_sync(FULL, x[i] < 32)


def test_votes_and_matches_are_signed_masks_of_a_warp():
    x, out = np.arange(64, dtype=np.int32), np.zeros((5, 64), np.int64)
    launch(votes, 1, 64, x, out)
    assert set(out[0]) == {np.int64(np.uint32(0xAAAAAAAA).view(np.int32))}
    np.testing.assert_array_equal(out[1], np.arange(64) >= 32)
    np.testing.assert_array_equal(out[2], np.arange(64) < 32)
    octets = np.array([0xFF << (lane // 8 * 8) for lane in LANES], np.uint32).view(np.int32)
    np.testing.assert_array_equal(out[3], np.tile(octets, 2))
    np.testing.assert_array_equal(out[4], 1)


@kernel
def bit_counts(x, out):
    i = cuda.threadIdx.x
    out[0, i] = cuda.popc(x[i])
    out[1, i] = cuda.clz(x[i])
    out[2, i] = cuda.ffs(x[i])
    out[3, i] = np.uint32(cuda.brev(x[i]))


@pytest.mark.parametrize("dtype", [np.uint32, np.int32])
def test_bit_functions_have_the_width_of_their_type(dtype):
    patterns = np.array([0, 1, 6, 0x80000000, 0xFFFFFFFF, 0x00F00000], np.uint32)
    out = np.zeros((4, 6), np.int64)
    launch(bit_counts, 1, 6, patterns.view(dtype), out)
    for j, p in enumerate(map(int, patterns)):
        text = f"{p:032b}"
        lowest = 32 - text.rindex("1") if p else 0
        expected = [text.count("1"), len(text) - len(text.lstrip("0")), lowest, int(text[::-1], 2)]
        assert list(out[:, j]) == expected, hex(p)


@kernel
def wide_bits(x, out):
    out[0] = cuda.popc(x[0])
    out[1] = cuda.clz(x[0])


def test_sixty_four_bit_integers():
    out = np.zeros(2, np.int64)
    launch(wide_bits, 1, 1, np.array([1 << 40 | 3], np.uint64), out)
    assert list(out) == [3, 23]


@kernel
def block_votes(out):
    i = cuda.threadIdx.x
    out[0, i] = cuda.syncthreads_count(np.int32(i % 3 == 0))
    out[1, i] = cuda.syncthreads_and(np.int32(i < 40))
    out[2, i] = cuda.syncthreads_or(np.int32(i == 39))


def test_block_votes():
    out = np.zeros((3, 40), np.int32)
    launch(block_votes, 1, 40, out)
    assert [set(row) for row in out] == [{14}, {1}, {1}]


@kernel
def reverse_by_block(x, out):
    first = cuda.shared.array(48, np.float32)
    second = cuda.shared.array(48, np.float32)
    mine = cuda.local.array(2, np.float32)
    i, g = cuda.threadIdx.x, cuda.grid(1)
    first[i] = x[g]
    second[i] = np.float32(2) * x[g]
    cuda.syncthreads()
    mine[0], mine[1] = first[47 - i], second[47 - i]
    out[g] = mine[0] + mine[1]


def test_shared_arrays_belong_to_a_block_and_a_call_site():
    x, out = np.arange(96, dtype=np.float32), np.zeros(96, np.float32)
    launch(reverse_by_block, 2, 48, x, out)
    np.testing.assert_array_equal(out, 3 * x.reshape(2, 48)[:, ::-1].ravel())


@kernel
def atomics(ints, floats):
    i = np.int32(cuda.threadIdx.x)
    cuda.atomic.add(floats, 0, np.float32(1.5))
    cuda.atomic.sub(ints, 0, i)
    cuda.atomic.max(ints, 1, i)
    cuda.atomic.min(ints, 2, i)
    cuda.atomic.exch(ints, 3, np.int32(7))
    cuda.atomic.cas(ints, 4, np.int32(0), i + np.int32(1))


def test_atomics_on_integers_and_floats():
    ints, floats = np.array([0, 0, 99, 0, 0], np.int32), np.zeros(1, np.float32)
    launch(atomics, 1, 40, ints, floats)
    assert floats[0] == 60 and list(ints[:4]) == [-780, 39, 0, 7] and 1 <= ints[4] <= 40


@kernel
def tickets(counter, out):
    mine = cuda.atomic.inc(counter, 0, np.uint32(9))
    cuda.atomic.add(out, mine, np.int32(1))


def test_atomic_inc_wraps_after_its_limit():
    counter, out = np.zeros(1, np.uint32), np.zeros(12, np.int32)
    launch(tickets, 5, 8, counter, out)
    assert list(out) == [4] * 10 + [0, 0] and counter[0] == 0


@kernel(max_registers=32, launch_bounds=(64, 2))
def wrapping(x, out):
    i = cuda.threadIdx.x
    out[i] = np.uint32(x[i] * np.uint32(0x9E3779B9))


@pytest.mark.filterwarnings("error")
def test_compiler_options_are_accepted_and_integers_wrap_silently():
    x, out = np.arange(40, dtype=np.uint32), np.zeros(40, np.uint32)
    launch(wrapping, 1, 40, x, out)
    np.testing.assert_array_equal(out, (x.astype(np.uint64) * 0x9E3779B9 & 0xFFFFFFFF).astype(np.uint32))


@kernel
def fused(x, out):
    out[0] = cuda.fma(x[0], x[0], x[1])


def test_fma_rounds_once():
    a = np.float32(1 + 2.0**-12)
    out = np.zeros(1, np.float32)
    launch(fused, 1, 1, np.array([a, -a * a], np.float32), out)
    assert out[0] == np.float32(np.float64(a) * np.float64(a) - np.float64(np.float32(a * a))) != 0


@kernel(device=True)
def warp_total(x):
    for bits in (16, 8, 4, 2, 1):
        x += cuda.shfl_xor_sync(0xFFFFFFFF, x, bits)
    return x


@kernel
def totals(x, out):
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.float32(0)
    total = warp_total(value)
    if i % 32 == 0:
        out[i // 32] = total


def test_device_functions_shuffle_too():
    x, out = np.ones(70, np.float32), np.zeros(3, np.float32)
    launch(totals, 1, 96, x, out)
    assert list(out) == [32, 32, 6]


def test_one_kernel_bound_to_two_shapes():
    x = np.ones(96, np.float32)
    small, large = totals[1, 32], totals[1, 96]
    device_out = cuda.to_device(np.zeros(3, np.float32))
    small(cuda.to_device(x), device_out)
    assert list(device_out.copy_to_host()) == [32, 0, 0]
    large(cuda.to_device(x), device_out)
    assert list(device_out.copy_to_host()) == [32, 32, 32]


@kernel
def all_blocks_meet(x, out):
    i = cuda.grid(1)
    x[i] = i
    cuda.cg.this_grid().sync()
    out[i] = x[x.size - 1 - i]


def test_grid_barrier_over_several_blocks():
    x, out = np.zeros(8, np.float32), np.zeros(8, np.float32)
    launch(all_blocks_meet, 4, 2, x, out)
    np.testing.assert_array_equal(out, np.arange(8)[::-1])


# What a GPU would answer by hanging, or by a wrong number, the simulator answers with an error or a NaN.
only_simulated = pytest.mark.skipif(not SIMULATED, reason="a GPU hangs here: that is the point of the simulator")


@kernel
def half_a_warp_shuffles(out):
    i = cuda.threadIdx.x
    if i < 16:
        out[i] = cuda.shfl_xor_sync(FULL, np.float32(i), 1)
    else:
        cuda.syncthreads()


@only_simulated
def test_divergence_names_the_lanes_and_the_lines():
    with pytest.raises(RuntimeError) as caught:
        launch(half_a_warp_shuffles, 1, 32, np.zeros(32, np.float32))
    text = str(caught.value) + str(caught.value.__notes__)
    line = half_a_warp_shuffles.py_func.__code__.co_firstlineno + 4
    assert f"lanes 0-15: shfl_xor with mask 0xffffffff at test_cudasim.py:{line}" in text
    assert f"lanes 16-31: syncthreads at test_cudasim.py:{line + 2}" in text
    assert "half_a_warp_shuffles" in text


@kernel
def ragged_loop(lengths, out):
    i = cuda.threadIdx.x
    total = np.float32(0)
    for _ in range(lengths[i]):
        total += cuda.shfl_xor_sync(FULL, np.float32(1), 1)
    cuda.syncwarp()
    out[i] = total


@only_simulated
def test_a_full_mask_shuffle_in_a_ragged_loop_is_divergence():
    with pytest.raises(RuntimeError, match="wait for ever"):
        launch(ragged_loop, 1, 32, np.arange(32, dtype=np.int32), np.zeros(32, np.float32))


@kernel
def reads_before_writing(out):
    scratch = cuda.shared.array(32, np.float32)
    i = cuda.threadIdx.x
    out[i] = scratch[i] + cuda.shfl_down_sync(FULL, np.float32(i), 8)


@kernel
def takes_dynamic_memory(out):
    scratch = cuda.shared.array(0, np.float32)
    i = cuda.threadIdx.x
    scratch[i] = np.float32(i)
    cuda.syncthreads()
    out[i] = scratch[cuda.blockDim.x - 1 - i]


def test_dynamic_shared_memory():
    out = cuda.to_device(np.zeros(8, np.float32))
    takes_dynamic_memory[1, 8, 0, 32](out)
    assert list(out.copy_to_host()) == [7, 6, 5, 4, 3, 2, 1, 0]


@only_simulated
def test_uninitialised_shared_memory_is_not_a_number():
    out = np.zeros(32, np.float32)
    launch(reads_before_writing, 1, 32, out)
    assert np.isnan(out).all()


@kernel
def asks_an_absent_lane(out):
    i = cuda.threadIdx.x
    out[i] = cuda.shfl_xor_sync(FULL, np.float32(i), 16)


@only_simulated
def test_a_lane_that_takes_no_part_gives_an_undefined_value():
    out = np.zeros(20, np.float32)
    launch(asks_an_absent_lane, 1, 20, out)
    np.testing.assert_array_equal(np.isnan(out), (np.arange(20) >= 4) & (np.arange(20) < 16))


@kernel
def out_of_bounds(out):
    out[cuda.threadIdx.x + 30] = np.float32(1)


@only_simulated
def test_an_error_names_the_kernel_and_the_thread():
    with pytest.raises(IndexError) as caught:
        launch(out_of_bounds, 1, 4, np.zeros(32, np.float32))
    thread, kernel_name = caught.value.__notes__
    assert thread in [f"in thread ({x}, 0, 0) of block (0, 0, 0)" for x in (2, 3)]
    assert kernel_name == "in kernel out_of_bounds"


@pytest.mark.skipif(not SIMULATED, reason="a GPU refuses them in words of its own")
@pytest.mark.parametrize("grid, block", [((1, 65536), 32), ((1, 1, 65536), 1), (1, 1025), (1, (32, 33))])
def test_shapes_that_no_gpu_takes(grid, block):
    with pytest.raises(ValueError, match="no GPU takes"):
        launch(shuffles, grid, block, np.zeros(1, np.float32), np.zeros((4, 1), np.float32))


@kernel
def last_one_stays(out):
    out[cuda.blockIdx.x if cuda.gridDim.y > 1 else 0] = np.float32(cuda.threadIdx.x + 10 * cuda.blockIdx.y)


@only_simulated
@pytest.mark.parametrize("grid, block", [((1, 1), 2), ((2, 2), 1)], ids=["threads", "blocks"])
def test_a_race_shows_when_the_order_is_reversed(grid, block):
    with pytest.raises(AssertionError, match="argument 0 depends on the order of threads, first at 0"):
        launch_repeatably(last_one_stays, grid, block, np.zeros(2, np.float32))


def test_a_kernel_without_a_race_gives_the_same_bits_in_both_orders():
    x, out = np.arange(64, dtype=np.float32), np.full((4, 64), np.nan, np.float32)
    launch_repeatably(shuffles, 1, 64, x, out)
    assert out[0, 0] == 5


@kernel
def sums_of_a_module(mask, out):
    i = cuda.threadIdx.x
    out[i] = warp_total(group_sum(np.float32(1), 32))
    cuda.syncwarp(mask)


@pytest.mark.simulator
@pytest.mark.parametrize("mask", [FULL, 1])
def test_modules_are_as_before_after_a_launch(mask):
    """Also after an error, here of lanes that are not in their own mask."""
    import numba.cuda

    from cudasim import Kernel

    out = np.zeros(32, np.float32)
    with contextlib.nullcontext() if mask == FULL else pytest.raises(RuntimeError, match="not in its own mask"):
        launch(sums_of_a_module, 1, 32, np.uint32(mask), out)
    assert warp.cuda is cuda is numba.cuda and {type(warp_total), type(group_sum), type(warp.group_max)} == {Kernel}
    assert mask == 1 or (out == 32 * 32).all()
