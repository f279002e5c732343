"""Kernels that unpack ratings, against plain Python and their twins."""

import numpy as np
import pytest

pytestmark = pytest.mark.kernel

from support import launch

from factorization.solvers.sgd import stream_inputs
from gpukit.factorization.solvers.sgd import kernels

SHAPES = [(1, 32), (3, 64)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1, 31, 33, 200])
@pytest.mark.parametrize("width", [1, 3, 5])
def test_ratings(width, n, shape):
    for level_bits in (0, 3):
        rows, levels, packed = stream_inputs.ratings(level_bits, n, width)
        minor, values = np.full(n + 3, -1, np.int32), np.full(n + 3, 9, np.float32)
        arguments = packed, n, width, level_bits, stream_inputs.Z, minor, values
        launch(kernels.unpack_ratings, *shape, *arguments)
        np.testing.assert_array_equal(minor, [*rows, -1, -1, -1])
        np.testing.assert_array_equal(values[:n], stream_inputs.Z[levels] if level_bits else np.full(n, 9))
        assert (values[n:] == 9).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1, 33])
@pytest.mark.parametrize("slots", [32, 64])
@pytest.mark.parametrize("bits", [2, 3, 8])
def test_codes(bits, slots, n, shape):
    lines, packed = stream_inputs.codes(bits, slots, n)
    words = n * slots // 4
    out = np.full(words + 2, 5, np.uint32)
    launch(kernels.unpack_codes, *shape, packed, words, bits, out)
    np.testing.assert_array_equal(out[:words].view(np.uint8), lines.ravel())
    assert (out[words:] == 5).all()
