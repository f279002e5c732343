"""The kernel that groups a rank's ratings by block, exact.

Against its twin and a plain loop.
"""

import numpy as np
import pytest

pytestmark = pytest.mark.kernel

from parallel.test_team import together
from support import launch

from factorization.shared.test_training_data import keyed
from gpukit._driver import copy_in
from gpukit.factorization.shared import kernels, twins


@pytest.mark.parametrize("counts", [[1], [0, 3, 0, 0, 2, 0], [1, 2, 16, 17, 0, 64]], ids=str)
@pytest.mark.parametrize("shape", [(1, 32), (3, 64)], ids=str)
def test_key_blocks(counts, shape):
    starts, others, where, blocks, expected = keyed(counts)
    found, by_twin = (np.full(len(where), 77, np.uint64) for _ in range(2))
    launch(kernels.key_blocks, *shape, starts, others, where, blocks, len(counts), found)
    twins.key_blocks(starts, others, where, blocks, len(counts), by_twin)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(by_twin, expected)


def test_rows_that_ranks_have_solved_for_are_everywhere(monkeypatch):
    """Through the host: NCCL is not simulated."""
    from gpukit._cuda import cuda
    from gpukit.factorization.shared import gpu
    from gpukit.parallel.array_transport import HostTransport

    rows, spans = np.random.default_rng(0).random((7, 5), np.float32), [(0, 3), (3, 3), (3, 7)]
    monkeypatch.setattr(
        gpu, "lines_of", lambda team, device: HostTransport(team, lambda array: array.copy_to_host(), copy_in)
    )

    def work(team):
        mine = np.zeros_like(rows)
        mine[slice(*spans[team.rank])] = rows[slice(*spans[team.rank])]
        table = cuda.to_device(mine)
        gpu.RowGather(team, None).gather(table, spans)
        return table.copy_to_host()

    for table in together(3, work):
        np.testing.assert_array_equal(table, rows)
