"""Rows of lists for everybody."""

import numpy as np
import pytest

from gpukit.bench import lists
from gpukit.bench.conditions import Conditions
from gpukit.device import cpu


@pytest.mark.nightly
def test_rows_of_lists():
    rows = list(lists.lists(Conditions(cpu(), scale=0.0002)))
    assert [row.what.partition(",")[0] for row in rows] == ["learning what ranks lists"] + 2 * [
        "10 items for each user"
    ]
    assert all(len(row.samples) == 5 and np.min(row.samples) > 0 and row.shape == "netflix x 0.0002" for row in rows)
