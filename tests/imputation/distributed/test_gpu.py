"""Steps of one TensorCompletion on a simulated GPU rank and a CPU rank.

numpy replaces cupy.
"""

import numpy as np
import pytest
from parallel.test_team import together
from support import SIMULATED

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:.*encountered")]

from gpukit import device as devices
from gpukit.device.workspace import Workspace
from gpukit.graphs.basis import Basis
from gpukit.imputation.distributed import gpu as shared_gpu
from gpukit.imputation.distributed.completion import END, DistributedCompletion, Worker, serve
from gpukit.imputation.spectral import gpu
from gpukit.imputation.spectral.cpu import TensorCompletion
from imputation import naive_algorithm
from imputation.inputs import completed, problem
from imputation.spectral.test_gpu_completion import replace_cupy

GPU = devices.Device("cuda", 0, "simulated", (9, 0))


@pytest.fixture
def stand_in(monkeypatch):
    if not SIMULATED:
        pytest.skip("on a GPU test_gpu.py has the same with cupy itself")
    replace_cupy(monkeypatch, gpu, shared_gpu)


def both_walked(arguments, on_gpu, device):
    """Return the results of `walked` on ranks of `device` and a CPU."""

    def work(team):
        with Workspace() as workspace:
            worker = Worker(team, device if team.rank == on_gpu else devices.cpu(), workspace)
            if team.rank:
                return serve(worker)
            found = walked(DistributedCompletion(worker, *arguments))
            worker.ask(END)
            return found

    found, other = together(2, work)
    assert other is None, other
    assert not isinstance(found, Exception), found
    return found


def walked(completion):
    """Return results of a few steps."""
    first, found = completion.largest(), []
    cap = np.arange(len(first), dtype=np.int32) % 3
    for share, most, momentum in (0.6, None, 0.0), (0.3, None, 0.2), (0.0, cap, 0.4):
        found += completion.step(share * first, most, momentum)[:3]
    return [first, *found, completion.spectrum(2), completion.missing(), completed(completion)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["slices", "both"])
@pytest.mark.parametrize("on_gpu, scale", [(0, 1.0), (1, 1.0)])
def test_a_gpu_beside_a_cpu(kind, on_gpu, scale, stand_in):
    case = problem((4, 3), kind, 9)
    observed = scale * naive_algorithm.observed_only(case.truth, case.mask)
    arguments = Basis(case.mu, case.U, True), observed, case.mask, np.dtype(np.float64)

    for one, expected in zip(both_walked(arguments, on_gpu, GPU), walked(TensorCompletion(*arguments)), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-8, atol=1e-10 * scale)
