"""Subtracted means, against plain loops."""

import numpy as np
import pytest

from gpukit.errors import DataError, ParameterError
from gpukit.imputation.problem import CENTERS, centre_tensor, mean_of
from imputation import naive_baselines as naive

SHAPE = 7, 3, 4


def masks():
    """Return a mask of whole slices, and one of entries with an unobserved entry."""
    whole = np.array([True, False, True, True, False, True, True])
    single = np.random.default_rng(1).random(SHAPE) > 0.4
    single[:, 1, 2] = False
    return {"slices": whole, "entries": single}


@pytest.fixture(params=["slices", "entries"])
def mask(request):
    return masks()[request.param]


@pytest.fixture
def tensor():
    return np.random.default_rng(0).normal(20.0, 3.0, SHAPE)


@pytest.mark.parametrize("how", CENTERS)
def test_the_mean_is_that_of_what_is_observed(tensor, mask, how):
    tensor[~naive.whole(mask, SHAPE)] = 1e9  # never read
    np.testing.assert_allclose(mean_of(tensor, mask, how), naive.mean(tensor, mask, how), rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_mean_is_subtracted_from_observed_values(tensor, mask, dtype):
    tensor = tensor.astype(dtype)
    before, mean = tensor.copy(), mean_of(tensor, mask, "entry")
    data, seen = centre_tensor(tensor, mask, mean), naive.whole(mask, SHAPE)
    assert data.dtype == dtype and (data[~seen] == 0).all()
    np.testing.assert_allclose(data[seen], (tensor - mean)[seen], rtol=1e-4, atol=1e-5)
    assert (tensor == before).all()


def test_a_mean_of_nothing_and_an_unknown_one_are_refused(tensor):
    with pytest.raises(DataError, match="no entry of the tensor is observed"):
        mean_of(tensor, np.zeros(7, bool), "global")
    with pytest.raises(ParameterError, match="center must be one of 'none', 'global', 'entry'; got 'median'"):
        mean_of(tensor, np.ones(7, bool), "median")
    assert (mean_of(tensor, np.zeros(7, bool), "none") == 0).all()
