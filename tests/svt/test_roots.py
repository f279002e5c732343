"""1 / sqrt(x): compiled for the CPU, as plain Python, and in a kernel."""

import numpy as np
import pytest

import gpukit.svt.kernels.bulge_chasing  # noqa: F401  (one instruction in kernels)
from gpukit._cuda import cuda, kernel
from gpukit._jit import njit
from gpukit.svt.formulas import inverse_root

NUMBERS = (1e-30, 0.25, 2.0, 3e20)
reals = pytest.mark.parametrize("real", [np.float32, np.float64])


@njit(cache=False)
def compiled(x):
    """inverse_root, compiled."""
    return inverse_root(x)


@kernel(cache=False)
def roots(x, out):
    """out = inverse_root(x): arrays of one type, a number per thread."""
    out[cuda.threadIdx.x] = inverse_root(x[cuda.threadIdx.x])


@reals
@pytest.mark.parametrize("function", [compiled, inverse_root], ids=["compiled", "plain"])
def test_on_a_cpu(function, real):
    for x in NUMBERS:
        assert abs(function(real(x)) * np.sqrt(x) - 1) <= 2 * np.finfo(real).eps
    with np.errstate(divide="ignore"):
        assert function(real(0)) == np.inf
    assert type(inverse_root(real(2))) is real


@pytest.mark.kernel
@reals
def test_in_a_kernel(real):
    x, out = np.array(NUMBERS, real), cuda.to_device(np.zeros(len(NUMBERS), real))
    roots[1, len(x)](cuda.to_device(x), out)
    np.testing.assert_allclose(out.copy_to_host() * np.sqrt(x), 1, rtol=4 * np.finfo(real).eps)
