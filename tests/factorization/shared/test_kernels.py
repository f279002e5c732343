"""Exchange of rows that ranks have solved for, on a GPU."""

import numpy as np
import pytest

pytestmark = pytest.mark.kernel

from parallel.test_team import together

from gpukit._driver import copy_in


def test_rows_that_ranks_have_solved_for_are_everywhere(monkeypatch):
    """Through the host: NCCL is not simulated."""
    from gpukit._cuda import cuda
    from gpukit.factorization.shared import gpu
    from gpukit.parallel.team import HostTransport

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
