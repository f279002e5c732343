"""Random bits: the formula to the bit, never 1.0, and no visible structure."""

import naive_random as naive
import numpy as np
import pytest

from gpukit import random
from gpukit._jit import njit

SEEDS = [0, 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1]


@njit
def draw_bits(key, n):
    out = np.empty(n, np.uint32)
    for i in range(n):
        out[i] = random.bits(key, i)
    return out


@njit
def draw_uniform(key, n):
    out = np.empty(n, np.float32)
    for i in range(n):
        out[i] = random.uniform(key, i)
    return out


@njit
def draw_below(key, n, bound):
    out = np.empty(n, np.int64)
    for i in range(n):
        out[i] = random.integer_below(key, i, bound)
    return out


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("stream", [0, 1, 77])
def test_key_and_bits_to_the_bit(seed, stream):
    key = random.key(seed, stream)
    assert int(key) == naive.key(seed, stream)
    assert [int(b) for b in draw_bits(key, 40)] == [naive.bits(int(key), i) for i in range(40)]
    assert int(random.bits(key, 2**32 - 1)) == naive.bits(int(key), 2**32 - 1)


@pytest.mark.parametrize("key", [0, 5, 2**32 - 1])
def test_long_bits_go_on_above_2_to_the_32(key):
    key = np.uint32(key)
    for index in (0, 1, 2**32 - 1):
        assert random.long_bits(key, index) == random.bits(key, index)
    for index in (2**32, 2**32 + 77, 2**40 - 1, 2**62 + 3):
        assert int(random.long_bits(key, index)) == naive.long_bits(int(key), index)
    first = {int(random.long_bits(key, index)) for index in range(4096)}
    beyond = [int(random.long_bits(key, high * 2**32 + index)) for high in (1, 2) for index in range(4096)]
    assert len(set(beyond[:4096])) == len(set(beyond[4096:])) == 4096 and len(first & set(beyond)) < 3
    assert abs(np.corrcoef(beyond[:4096], beyond[4096:])[0, 1]) < 4 / np.sqrt(4096)


def test_mix_is_a_bijection_on_a_sample():
    sample = np.arange(0, 2**32, 65521, dtype=np.uint64).astype(np.uint32)
    assert len({int(random.mix(x)) for x in sample[:20000]}) == 20000


def test_uniform_is_in_the_half_open_interval():
    """The largest 24-bit value is below 1 in float32: the end of the range, checked directly."""
    assert np.float32(np.float32(0xFFFFFFFF >> 8) * random.UNIT) < 1
    values = draw_uniform(random.key(3, 0), 1 << 20)
    assert values.dtype == np.float32 and values.min() >= 0 and values.max() < 1
    assert abs(values.mean(dtype=np.float64) - 0.5) < 4 * np.sqrt(1 / 12 / len(values))
    assert abs(values.var(dtype=np.float64) - 1 / 12) < 1e-3


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 1000, 2**31 - 1])
def test_below_stays_below(bound):
    values = draw_below(random.key(1, 2), 20000, bound)
    assert values.min() >= 0 and values.max() < bound
    if bound <= 10:
        counts = np.bincount(values, minlength=bound)
        chi2 = ((counts - 20000 / bound) ** 2 / (20000 / bound)).sum()
        assert chi2 < 3 * bound + 15


def test_every_bit_is_fair_and_streams_differ():
    a, b = draw_bits(random.key(0, 0), 1 << 16), draw_bits(random.key(0, 1), 1 << 16)
    for values in (a, b, a ^ b, a[1:] ^ a[:-1]):
        ones = np.array([((values >> np.uint32(bit)) & 1).mean() for bit in range(32)])
        assert np.abs(ones - 0.5).max() < 5 * 0.5 / np.sqrt(len(values))
    assert (a == b).sum() <= 2
