"""Benchmark of single answers: its rows, and a wrong list."""

import numpy as np
import pytest

from gpukit import bench
from gpukit.bench import Conditions, recommendations
from gpukit.device import cpu
from gpukit.errors import DataError
from gpukit.factorization import MatrixFactorization

OPTIONS = {"n_factors": 8, "n_epochs": 1, "regularization": 0.05, "device": "cpu"}


@pytest.mark.slow
def test_rows():
    rows = list(bench.find("serve")(Conditions(cpu(), scale=0.0005)))
    assert len({(row.what, row.shape) for row in rows}) == len(rows) == 16
    assert all(np.min(row.samples) > 0 and row.unit == "ms" for row in rows)
    assert {row.shape for row in rows} == {"netflix x 0.0005", "1,000,000 items x 0.0005"}


@pytest.mark.slow
def test_wrong_lists_are_errors():
    model = recommendations.fit_model(MatrixFactorization(**OPTIONS), recommendations.make_shapes(0.0002)[0])
    recommendations.check_lists(model)
    model._head.item_factors[:] *= -1  # the session keeps those before
    with pytest.raises(DataError, match="list of a user has a relative error"):
        recommendations.check_lists(model)
