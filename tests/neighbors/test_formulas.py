"""Bit-sliced counting and code pieces against plain counting."""

import numpy as np
import pytest

from gpukit.neighbors import formulas
from neighbors.inputs import unpack


def counters(slices):
    """The 32 counters that bit slices hold."""
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


@pytest.mark.parametrize("shift, width", [(0, 32), (31, 32), (5, 7), (24, 8), (30, 3)])
def test_piece_of(shift, width):
    low, high = 0x89ABCDEF, 0x01234567
    expected = ((high << 32 | low) >> shift) % 2**width
    assert formulas.piece_of(np.uint32(low), np.uint32(high), shift, width) == expected


def test_used_bits():
    assert [int(formulas.used_bits(word, 70)) for word in range(3)] == [2**32 - 1, 2**32 - 1, 2**6 - 1]
    assert formulas.used_bits(1, 64) == 2**32 - 1


@pytest.mark.parametrize("width", [24, 64, 96])
def test_table_code_depends_on_every_bit(width):
    from gpukit.neighbors.twins import table_code

    codes = np.random.default_rng(1).integers(0, 2**32, (1, 7), dtype=np.uint32).repeat(width + 1, axis=0)
    for bit in range(width):
        codes[bit, (width + bit) // 32] ^= np.uint32(1 << ((width + bit) % 32))
    seen = {int(table_code(codes, item, 1, width)) for item in range(width + 1)}
    assert len(seen) == width + 1
    if width <= 64:
        pieces = unpack(codes[-1:], 7 * 32)[0][width : 2 * width]
        first, rest = pieces[: min(width, 32)], pieces[32:]
        value = sum(int(b) << k for k, b in enumerate(first)) << (32 if width > 32 else 0)
        assert int(table_code(codes, width, 1, width)) == value + sum(int(b) << k for k, b in enumerate(rest))
