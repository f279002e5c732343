"""The ranking head on a GPU against the CPU, for ratings on either."""

import numpy as np
import pytest
from support import small_launches

from factorization.inputs import history, problem

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit._cuda import cuda
from gpukit.device import Device, cpu
from gpukit.factorization.constants import RULES
from gpukit.factorization.lists import learning
from gpukit.model_selection.search import Search
from gpukit.model_selection.trial import Trial


@pytest.mark.slow
@pytest.mark.parametrize("resident, judges", [(True, 2), (False, RULES.least_users)])
def test_as_on_the_cpu(resident, judges, monkeypatch):
    """With chosen settings, and with the defaults if too few users have clicks."""
    small_launches(monkeypatch)
    monkeypatch.setattr(RULES, "list_factors", 3)
    monkeypatch.setattr(RULES, "list_epochs", 2)
    monkeypatch.setattr(RULES, "least_users", judges)
    monkeypatch.setattr(Trial, "is_better", lambda trial, other, certain=1.0: True)
    monkeypatch.setattr(
        Search, "climb", lambda search, start, move, step, certain=1.0: search.run(move(start[0], step))
    )
    case = problem(1, 0, shape=(7, 9), n_ratings=25)
    rated = history(case)
    rated = rated._replace(levels=np.nan_to_num(rated.levels))
    expected = learning.learn_head(rated, case.shape, cpu())
    there = type(rated)(*map(cuda.to_device, rated)) if resident else rated
    found = learning.learn_head(there, case.shape, Device("cuda", 0, ""))
    for one, other in zip(found, expected):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
    usual = [RULES.list_regularization, RULES.list_unobserved_weight, RULES.list_exponent]
    assert (found.numbers.tolist() == usual) == (judges == RULES.least_users and judges > 2)
    assert found.clicks.sum() == 25 and np.abs(found.item_factors).max() > 0.01
