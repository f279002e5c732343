"""Minor rows of a session at the chosen place.

They have the same numbers at any place.
"""

import numpy as np
import pytest

pytestmark = pytest.mark.kernel

from support import small_launches

from factorization.shared.data import table_of
from gpukit._cuda import cuda
from gpukit.factorization import gpu
from gpukit.factorization.arrays import Parameters, Side
from gpukit.factorization.constants import RULES
from gpukit.factorization.gpu import DeviceModel
from gpukit.factorization.model.layout import gpu_layout

MINOR = np.int32([2, 0, 2, 4, 2, 0, 1])  # by rating; five rows, the fourth without ratings


class Started(DeviceModel):
    """The rows of a DeviceModel."""

    def __init__(self, table, layout):
        self.layout, self.vector, self.places, self.room = layout, False, None, None
        self.parameters = Parameters(None, cuda.to_device(table), None, None)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("tried", [False, True])
def test_rows_keep_their_numbers(tried, half, monkeypatch):
    """Also rows that are set later."""
    small_launches(monkeypatch)
    for name, value in (
        ("TIMED_THREADS", 32),
        ("TIMED_BLOCKS", 1),
        ("processors", lambda: 1),
    ):
        monkeypatch.setattr(gpu, name, value)
    monkeypatch.setattr(RULES, "timed_from", 1 if tried else 99)
    layout, asked = gpu_layout(32, 0, half), []

    def attempts(kernel, minor, every, places):
        asked.append(minor.copy_to_host())
        return np.abs(np.arange(len(places)) - 3)

    monkeypatch.setattr(gpu, "attempts", attempts)
    first, later = table_of(6, 32, half)[0], table_of(6, 32, half)[0][::-1].copy()
    session = Started(first, layout)
    starts = np.append(0, np.cumsum(np.bincount(MINOR, minlength=5))).astype(np.int64)
    there = cuda.to_device(MINOR)
    session.spread_minor(Side(None, None, there, None, None, None, cuda.to_device(starts)))
    for table in (first, later):
        if table is later:
            session.take_minor(cuda.to_device(table))
        stored = session.parameters.Q.copy_to_host()
        np.testing.assert_array_equal(session.minor().copy_to_host().view(np.uint32), table.view(np.uint32))
        np.testing.assert_array_equal(stored[there.copy_to_host()].view(np.uint32), table[MINOR].view(np.uint32))
        assert session.parameters.Q is session.room
    assert len(asked) == tried * len(gpu.ROUNDS) and all((minor == there.copy_to_host()).all() for minor in asked)
