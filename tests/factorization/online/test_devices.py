"""Updates by the host steps of the GPU and of the CPU."""

import copy

import numpy as np
import pytest
from support import small_launches

from factorization.inputs import make, planted
from gpukit.factorization import LSHMF, MatrixFactorization

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.device import Device, cpu
from gpukit.factorization import cpu as cpu_steps
from gpukit.factorization import gpu
from gpukit.factorization.online import device_state, run


@pytest.fixture(autouse=True)
def few_threads(monkeypatch):
    """Grids of a few warps, one worker on either device."""
    small_launches(monkeypatch)
    monkeypatch.setattr(gpu, "CODE_BLOCKS", 3)
    monkeypatch.setattr(gpu, "PARTS", 3)
    monkeypatch.setattr(gpu, "BLOCK", 64)
    monkeypatch.setattr(gpu, "most_workers", lambda layout: 1)
    monkeypatch.setattr(device_state.runs, "check_memory", lambda *arguments: None)


def few(users, items):
    """Some of the planted ratings, in the first rows."""
    whole = planted(6, 5, 0.7)
    return whole.take((whole.users < users) & (whole.items < items))


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["frozen", "move"])
@pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])
def test_an_update_is_the_same_on_both_devices(model, rows, monkeypatch):
    for steps in (cpu_steps, gpu):  # the same strata
        monkeypatch.setattr(steps, "GRAIN", 2)
    more = {"n_neighbors": 2, "lsh_q": 1, "lsh_p": 1} if model is LSHMF else {}
    fitted, updated = make(model, n_epochs=2, deterministic=True, **more).fit(few(5, 4)), []
    monkeypatch.setattr(run, "has_grown", lambda *arguments: False)
    for device in (cpu(), Device("cuda", 0, "")):
        monkeypatch.setattr(run.devices, "resolve", lambda spec, device=device: device)
        updated.append(copy.copy(fitted).partial_fit(planted(6, 5, 0.7), rows=rows))
    mine, other = updated
    for name in mine._state._fields:
        expected, array = getattr(mine._state, name), getattr(other._state, name)
        assert expected.dtype == array.dtype
        np.testing.assert_allclose(array, expected, rtol=2e-4, atol=2e-5, err_msg=name)
    for expected, array in zip(mine._rated, other._rated):
        np.testing.assert_array_equal(array, expected)
    assert mine._scale == other._scale
    counts = [{**one.updates_[0], "seconds": None} for one in updated]
    assert counts[0] == counts[1] and counts[0]["users"] > 0 and counts[0]["items"] > 0
    if rows == "frozen":
        np.testing.assert_array_equal(other._state.item_factors[:4], fitted._state.item_factors[:4])
