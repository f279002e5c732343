"""The kernel of P-SWX against all pairs."""

import numpy as np
import pytest
from support import launch_repeatably

from ranking import inputs, naive

pytestmark = pytest.mark.kernel

from gpukit.ranking.kernels import pair_sums as p_swx_kernels
from gpukit.ranking.problem import Sums


def p_swx(at, u):
    """Return problem.Sums; the kernel must write every element."""
    sums, blocks = Sums(*np.full((2, len(u)), np.nan)), len(at.offsets) - 1
    launch_repeatably(p_swx_kernels.p_swx, blocks, p_swx_kernels.THREADS, at.order, at.s, at.level, at.offsets, u, sums)
    return sums


@pytest.mark.parametrize("name", inputs.SMALL)
def test_counts_are_exact(name):
    at = inputs.case(name)
    ones = np.ones(len(at.y))
    np.testing.assert_array_equal(p_swx(at, ones), naive.pair_sums(at.y, at.s, ones, at.offsets))


@pytest.mark.parametrize("scores", ["margins", "wide", "narrow"])
def test_sums_over_several_tiles(scores):
    """A query longer than a tile: all of the second one, a part, or none is within the margin."""
    at = inputs.queries([1, 300, 256], 4, scores)
    expected = naive.pair_sums(at.y, at.s, at.u, at.offsets)
    np.testing.assert_allclose(p_swx(at, at.u), expected, rtol=0, atol=1e-12)
