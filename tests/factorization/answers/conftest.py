"""Small fitted models."""

import numpy as np
import pytest

from factorization.inputs import make, planted
from gpukit.factorization import LSHMF, MatrixFactorization


@pytest.fixture(scope="package", params=[MatrixFactorization, LSHMF], ids=["plain", "neighbours"])
def fitted(request):
    """A model of half of all pairs; ids have gaps.

    60 users and 30 items.
    """
    return make(request.param).fit(planted())


@pytest.fixture(scope="package")
def bare():
    """A model of biases alone: no neighbours, factors that are zero."""
    model = make(MatrixFactorization).fit(planted())
    state = model._state
    zeros = {name: np.zeros_like(getattr(state, name)) for name in ("user_factors", "item_factors")}
    model.set_fitted(state._replace(**zeros), model._rated, model._scale, model.user_ids_, model.item_ids_)
    return model
