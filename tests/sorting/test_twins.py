"""The CPU sort against Python's stable sort."""

import numpy as np
import pytest

from gpukit.sorting import cpu, gpu
from sorting import inputs, naive

DTYPES = [np.float32, np.float64]


def argsort(keys, offsets):
    """Return the twin's order; it must write every element."""
    order = np.full(len(keys), -1, np.int32)
    cpu.argsort(keys, cpu.plan(offsets, keys.dtype), order)
    return order


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lengths", inputs.LENGTHS)
@pytest.mark.parametrize("kind", inputs.KEYS)
def test_argsort(kind, lengths, dtype):
    offsets = inputs.segments(lengths)
    keys = inputs.keys(kind, offsets[-1], dtype)
    np.testing.assert_array_equal(argsort(keys, offsets), naive.argsort(keys, offsets))


@pytest.mark.parametrize("dtype", DTYPES)
def test_many_segments_and_a_long_one(dtype):
    lengths = np.concatenate([np.random.default_rng(0).integers(0, 30, 1000), [20_000, 0]])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    keys = inputs.keys("few values", offsets[-1], dtype)
    np.testing.assert_array_equal(argsort(keys, offsets), naive.argsort(keys, offsets))


@pytest.mark.parametrize("kind", inputs.KEYS)
def test_a_kind_between_others(kind):
    """Runs of a segment end with it, also if its neighbours continue them."""
    sizes = [700, 64, 63, 65, 130, 0, 1, 257]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    keys = np.concatenate([inputs.keys(kind, size, np.float64) for size in sizes])
    np.testing.assert_array_equal(argsort(keys, offsets), naive.argsort(keys, offsets))


@pytest.mark.parametrize("kind", ["ascending", "descending", "descending with ties", "normal"])
@pytest.mark.parametrize("size", [1, 2, 3, 70, 300])
@pytest.mark.parametrize("sign", [1, -1])
def test_nan_is_sorted_to_an_end_by_its_sign(kind, size, sign):
    for place in {0, size // 2, size - 1}:
        keys, offsets = inputs.keys(kind, size, np.float64), np.array([0, size])
        expected = keys.copy()
        keys[place], expected[place] = np.copysign(np.nan, sign), sign * np.inf
        np.testing.assert_array_equal(argsort(keys, offsets), naive.argsort(expected, offsets))


@pytest.mark.parametrize("levels", [5, 100, 10**6])
@pytest.mark.parametrize("size", [97, 130, 1000, 20_000])
def test_sorted_but_for_scattered_keys(size, levels):
    """Equal keys by position, whether they are in order, in front of a smaller key or behind a larger one."""
    rng, offsets = np.random.default_rng(size + levels), np.array([0, size])
    for share in (0.001, 0.01, 0.05, 0.1, 0.3):
        keys = np.sort(rng.integers(0, levels, size)) * np.float64(0.5)
        scattered = rng.choice(size, max(1, int(share * size)), replace=False)
        keys[scattered] = rng.integers(-1, levels + 1, len(scattered)) * 0.5
        for part in (keys, np.where(keys == 0, rng.choice([-0.0, 0.0], size), keys)):
            np.testing.assert_array_equal(argsort(part, offsets), naive.argsort(part, offsets))


@pytest.mark.parametrize("nans", [[], [0], [5, 2]])
def test_first_nan(nans):
    keys = np.zeros(7)
    keys[nans] = np.nan
    assert cpu.first_nan(keys) == min(nans, default=7)


def test_the_work_covers_every_segment_once():
    lengths = [n for case in inputs.LENGTHS.values() for n in case] * 3
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    segments, blocks, room = gpu.work(offsets, 64)
    assert sorted(segments) == [s for s, n in enumerate(lengths) if n]
    whole = [lengths[segments[first]] for first, _, lanes, _ in blocks if not lanes]
    assert whole == sorted(whole, reverse=True), "the longest segment begins first"
    done, taken = [], 0
    for first, count, lanes, start in blocks:
        mine = segments[first : first + count]
        done += list(mine)
        if lanes:
            assert count * lanes <= 64 and all(lanes * 4 < lengths[s] <= lanes * 8 or lanes == 1 for s in mine)
        else:
            assert count == 1 and lengths[mine[0]] > 256
            if lengths[mine[0]] > 512:
                assert start == taken
                taken += lengths[mine[0]]
    assert done == list(segments)
    assert room == taken == sum(n for n in lengths if n > 512)
