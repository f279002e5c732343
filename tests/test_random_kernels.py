"""Kernel and twin give the same bits."""

import naive_random as naive
import numpy as np
import pytest
from support import launch

from gpukit import random
from gpukit._cuda import cuda, kernel

pytestmark = pytest.mark.kernel


@kernel
def draw(seed, stream, bits, uniforms, below):
    i = cuda.grid(1)
    if i < bits.size:
        key = random.key(seed, stream)
        bits[i] = random.bits(key, i)
        uniforms[i] = random.uniform(key, i)
        below[i] = random.integer_below(key, i, 1000)


@pytest.mark.parametrize("seed", [0, 2**32 - 1, 2**40 + 5])
def test_a_kernel_draws_the_formula(seed):
    n = 70
    bits, uniforms, below = np.zeros(n, np.uint32), np.zeros(n, np.float32), np.zeros(n, np.int64)
    launch(draw, 3, 32, seed, 7, bits, uniforms, below)
    expected = [naive.bits(naive.key(seed, 7), i) for i in range(n)]
    assert [int(b) for b in bits] == expected
    np.testing.assert_array_equal(uniforms, np.array([(b >> 8) / 2**24 for b in expected], np.float32))
    assert list(below) == [b * 1000 >> 32 for b in expected]
