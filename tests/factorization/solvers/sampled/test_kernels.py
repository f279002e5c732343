"""The kernel of learning from clicks against the oracle, which one worker matches."""

import numpy as np
import pytest
from support import launch

from factorization.inputs import TURN, lanes_layout, pack, rates, unpack
from factorization.solvers.sampled.inputs import assert_learned, clicked_problem, draw_of, trail_of, visits

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit._cuda import SIMULATED, cuda
from gpukit.device import gpu_count
from gpukit.factorization.model.layout import gpu_layout
from gpukit.factorization.solvers.sampled_kernels import make_sampled_epoch


def learned(case, layout, trail, steps, draw, vector=False, block=32, workers=1):
    """Return the Problem's State after sampled_epoch; its workspace is zero before and after."""
    if vector and not (SIMULATED or gpu_count() and tuple(cuda.get_current_device().compute_capability) >= (9, 0)):
        pytest.skip("vector additions need compute capability 9.0")
    parameters, near = pack(case, layout)
    workspace = np.zeros((workers, case.shape[1] // 32 + 1), np.uint32)
    epoch = make_sampled_epoch(layout.lanes, layout.factors, layout.near, vector)
    launch(epoch, 1, block, trail.chunks, trail.clicks, near, parameters, steps, TURN, draw, workers, workspace)
    assert not workspace.any()
    return unpack(case, layout, parameters)


@pytest.mark.slow
@pytest.mark.parametrize("pairwise", [False, True])
@pytest.mark.parametrize("n_factors, n_neighbors, lanes", [(1, 0, 8), (33, 0, 16), (3, 5, 8), (5, 33, 8), (33, 3, 32)])
def test_one_worker(n_factors, n_neighbors, lanes, pairwise):
    """The other groups of the warp have no chunks."""
    case = clicked_problem(n_factors, n_neighbors, n_ratings=24)
    layout, trail, draw = lanes_layout(n_factors, n_neighbors, lanes), trail_of(case), draw_of(2, pairwise)
    state = learned(case, layout, trail, rates(), draw, vector=n_factors > 3)
    assert_learned(case, state, visits(case, trail, draw), rates(), pairwise)


@pytest.mark.slow
@pytest.mark.parametrize("negatives, longest", [(0, 3), (1, 1000), (5, 2)])
def test_negatives_and_chunks(negatives, longest):
    case = clicked_problem(4, 3, n_ratings=20, seed=2)
    trail, draw = trail_of(case, longest), draw_of(negatives)
    state = learned(case, gpu_layout(4, 3), trail, rates(), draw, vector=SIMULATED)
    assert_learned(case, state, visits(case, trail, draw), rates(), False)


@pytest.mark.parametrize("pairwise", [False, True])
def test_users_with_nearly_all_clicks(pairwise):
    case = clicked_problem(4, 3, shape=(4, 5), n_ratings=11, seed=3)
    trail, draw = trail_of(case), draw_of(4, pairwise)
    state = learned(case, lanes_layout(4, 3, 8), trail, rates(), draw)
    assert_learned(case, state, visits(case, trail, draw), rates(), pairwise)


@pytest.mark.slow
@pytest.mark.parametrize("block", [32, 96])
def test_several_workers_see_every_click(block):
    """Sums of squared errors equal those of one worker.

    All other rates are 0.
    """
    case = clicked_problem(3, 2, n_ratings=24, seed=5)
    steps = rates()._replace(factor=np.float32(0), bias=np.float32(0), influence=np.float32(0))
    trail, layout = trail_of(case, workers=3), lanes_layout(3, 2, 8)
    one, three = (learned(case, layout, trail, steps, draw_of(2), block=block, workers=workers) for workers in (1, 3))
    np.testing.assert_allclose(one.user_extras, three.user_extras, rtol=1e-5)
    np.testing.assert_allclose(one.item_extras, three.item_extras, rtol=1e-5)
