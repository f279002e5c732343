"""The sorting kernels against Python's stable sort. Small blocks, so that short segments use every method."""

import numpy as np
import pytest
from support import launch, thinned

from sorting import inputs, naive

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.device import Device
from gpukit.sorting import gpu, kernels, segmented_argsort

DTYPES = [np.float32, np.float64]


def argsort(keys, offsets, block_size, seed=0):
    """Return the kernel's order; it must write every element."""
    segments, blocks, room = gpu.work(offsets, block_size)
    order = np.full(len(keys), -1, np.int32)
    buffers = np.zeros((2, max(room, 1)), np.uint64), np.zeros((2, max(room, 1)), np.uint32)
    kernel = kernels.make_argsort(keys.dtype == np.float32, block_size, gpu.only_small(blocks))
    launch(kernel, len(blocks), block_size, keys, offsets, order, gpu.pivot_key(seed), segments, blocks, *buffers)
    return order


@pytest.mark.parametrize("lengths, dtype", thinned(inputs.LENGTHS, DTYPES, share=2))
def test_lengths(lengths, dtype):
    offsets = inputs.segments(lengths)
    keys = inputs.keys("few values" if lengths == "tiny" else "normal", offsets[-1], dtype)
    np.testing.assert_array_equal(argsort(keys, offsets, 64), naive.argsort(keys, offsets))


@pytest.mark.parametrize("kind, dtype", thinned(inputs.KEYS, DTYPES, share=2))
def test_keys(kind, dtype):
    """A group of lanes, a block, and quicksort down to it."""
    offsets = np.array([0, 20, 276, 576], np.int64)
    keys = inputs.keys(kind, offsets[-1], dtype)
    np.testing.assert_array_equal(argsort(keys, offsets, 32), naive.argsort(keys, offsets))


@pytest.mark.parametrize("dtype", DTYPES)
def test_runs_are_merged_in_pairs(dtype):
    """Three and four runs of a warp each; a run without a partner, and one that ends inside."""
    offsets = np.array([0, 600, 1624, 2393], np.int64)
    keys = inputs.keys("normal", offsets[-1], dtype)
    np.testing.assert_array_equal(argsort(keys, offsets, 128), naive.argsort(keys, offsets))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_part_does_not_see_the_one_before_it(dtype):
    """A part of three runs after one of four smaller ones, whose keys remain in shared memory."""
    keys, offsets = inputs.keys("normal", 2100, dtype, 1), np.array([0, 2100], np.int64)
    np.testing.assert_array_equal(argsort(keys, offsets, 128), naive.argsort(keys, offsets))


def test_the_stack_of_pieces_stays_low(monkeypatch):
    """The shorter part is sorted first: 2,000 keys, halved three times, fit a block, which bounds the stack."""
    monkeypatch.setattr(kernels, "DEPTH", 3)  # as in the simulator
    keys, offsets = inputs.keys("normal", 2000, np.float32, 2), np.array([0, 2000], np.int64)
    np.testing.assert_array_equal(argsort(keys, offsets, 32), naive.argsort(keys, offsets))


@pytest.mark.parametrize("rank", [6, 7, 8, 15])
def test_two_keys_that_only_their_last_bits_tell_apart(rank):
    """Within a lane's eight keys of a rank, and between two lanes."""
    keys = np.arange(17.0)
    keys[rank], keys[rank + 1] = np.nextafter(keys[rank], 99), keys[rank]
    offsets = np.array([0, 17])
    assert naive.argsort(keys, offsets) != list(range(17))
    np.testing.assert_array_equal(argsort(keys, offsets, 32), naive.argsort(keys, offsets))


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_seed_gives_the_same(dtype):
    offsets = np.array([0, 900], np.int64)
    keys = inputs.keys("few values", 900, dtype)
    expected = naive.argsort(keys, offsets)
    for seed in (0, 2**40 + 1):
        np.testing.assert_array_equal(argsort(keys, offsets, 32, seed), expected)


def test_a_plan_serves_many_sorts():
    offsets = inputs.segments("two chunks")
    from gpukit._cuda import cuda

    sorting, order = gpu.plan(offsets, np.float64, block_size=64), cuda.device_array(int(offsets[-1]), np.int32)
    for seed in (1, 2):
        keys = inputs.keys("normal", offsets[-1], np.float64, seed)
        gpu.argsort(cuda.to_device(keys), sorting, order)
        np.testing.assert_array_equal(order.copy_to_host(), naive.argsort(keys, offsets))


def test_nothing_to_sort():
    from gpukit._cuda import cuda

    order = cuda.to_device(np.array([77], np.int32))
    gpu.argsort(cuda.device_array(1, np.float32), gpu.plan(np.zeros(4, np.int64), np.float32), order)
    assert order.copy_to_host().tolist() == [77]


@pytest.mark.parametrize("size, nans", [(300, []), (300, [299]), (300, [270, 31, 290]), (1, [0])])
def test_first_nan(size, nans):
    keys = np.zeros(size, np.float32)
    keys[nans] = np.nan
    found = np.array([size], np.int64)
    launch(kernels.first_nan, 2, 160, keys, found)
    assert found[0] == min(nans, default=size)


@pytest.mark.parametrize("keys, offsets", [([3.0, 1.0, 2.0, 5.0, 4.0], [0, 3, 5]), ([], [0, 0])])
def test_host_keys_are_sorted_on_a_gpu_and_the_order_comes_back(keys, offsets):
    order = segmented_argsort(keys, offsets, device=Device("cuda", 0, "a GPU"))
    assert isinstance(order, np.ndarray) and order.tolist() == [1, 2, 0, 1, 0][: len(keys)]
