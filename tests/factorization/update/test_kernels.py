"""Updates by the host steps of the GPU and of the CPU."""

import numpy as np
import pytest
from support import small_launches

from factorization.inputs import make, planted
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.prepare import conflict_free_blocks
from gpukit.factorization.update import inputs
from gpukit.factorization.update.settings import Settings

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.device import Device, cpu
from gpukit.factorization import gpu
from gpukit.factorization.prepare import gpu as gpu_steps
from gpukit.factorization.update import run


@pytest.fixture(autouse=True)
def few_threads(monkeypatch):
    """Grids of a few warps, one worker on either device."""
    small_launches(monkeypatch)
    monkeypatch.setattr(gpu, "CODE_BLOCKS", 3)
    monkeypatch.setattr(gpu_steps, "PARTS", 3)
    monkeypatch.setattr(gpu_steps, "BLOCK", 64)
    monkeypatch.setattr(gpu, "most_workers", lambda layout: 1)
    monkeypatch.setattr(run.runs, "check_memory", lambda *arguments: None)


def few(users, items):
    """Some of the planted ratings, in the first rows."""
    whole = planted(6, 5, 0.7)
    return whole.take((whole.users < users) & (whole.items < items))


@pytest.mark.slow
@pytest.mark.parametrize("model, rows", [(MatrixFactorization, "frozen"), (LSHMF, "move")])
def test_an_update_is_the_same_on_both_devices(model, rows, monkeypatch):
    """Both train in batches, also the CPU, which would use strata."""
    monkeypatch.setattr(conflict_free_blocks, "uses_strata", lambda device, deterministic: False)
    more = {"n_neighbors": 2, "lsh_q": 1, "lsh_p": 1} if model is LSHMF else {}
    fitted = make(model, n_epochs=2, deterministic=True, **more).fit(few(5, 4))
    part = inputs.part_of(planted(6, 5, 0.7), None, fitted.user_ids_, fitted.item_ids_, "last", lambda ratings: ratings)
    found = []
    for device in (cpu(), Device("cuda", 0, "")):
        trainer = run.trainer_of(fitted, device, lambda orders, device=device: fitted._neighbors_of(orders, device))
        began = run.Model(fitted._state, fitted._rated, fitted._scale, len(fitted._rated.items))
        found.append(run.update(began, part, Settings(rows), trainer, lambda *news: None))
    mine, other = found
    for name in mine.state._fields:
        expected, array = getattr(mine.state, name), getattr(other.state, name)
        assert expected.dtype == array.dtype
        np.testing.assert_allclose(array, expected, rtol=2e-4, atol=2e-5, err_msg=name)
    for expected, array in zip(mine.history, other.history):
        np.testing.assert_array_equal(array, expected)
    assert mine.scale == other.scale
    counts = [{name: value for name, value in one.entry.items() if name != "seconds"} for one in found]
    assert counts[0] == counts[1] and counts[0]["users"] > 0 and counts[0]["items"] > 0
    if rows == "frozen":
        np.testing.assert_array_equal(other.state.item_factors[:4], fitted._state.item_factors[:4])
