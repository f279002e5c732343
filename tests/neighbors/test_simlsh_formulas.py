"""Bit-sliced counting against plain counting."""

import numpy as np
import pytest

from gpukit.neighbors import formulas
from neighbors.inputs import unpack


def counters(slices):
    """Return the 32 counters of bit slices."""
    return sum(unpack(np.array([[s]], np.uint32), 32)[0] << k for k, s in enumerate(slices))


def test_eight_words_at_a_time_up_to_4095():
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**32, (511, 8), dtype=np.uint32) | np.uint32(0xFF000000)  # eight counters reach 4088
    low, high = (np.uint32(0),) * 3, (np.uint32(0),) * 9
    for eight in words:
        ones, twos, fours, carry = formulas.add_eight(low, *eight)
        low, high = (ones, twos, fours), formulas.add_carry(high, carry)
    np.testing.assert_array_equal(counters(low + tuple(high)), unpack(words.reshape(-1, 1), 32).sum(axis=0))


@pytest.mark.parametrize("threshold", [0, 1, 5, 16, 31])
def test_compare_slice(threshold):
    values = np.arange(32)
    answer = np.uint32(0xFFFFFFFF)
    for s in range(5):
        slice_ = np.uint32(sum(((value >> s) & 1) << g for g, value in enumerate(values.tolist())))
        answer = formulas.compare_slice(slice_, (threshold >> s) & 1, answer)
    np.testing.assert_array_equal(unpack(np.array([[answer]], np.uint32), 32)[0], values >= threshold)


def test_used_bits():
    assert [int(formulas.used_bits(word, 70)) for word in range(3)] == [2**32 - 1, 2**32 - 1, 2**6 - 1]
    assert formulas.used_bits(1, 64) == 2**32 - 1
