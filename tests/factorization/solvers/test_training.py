"""Trainings of the solvers on the GPU against the CPU.

Arrangement, epochs, resulting State.
"""

import numpy as np
import pytest

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from factorization.test_session import (  # noqa: F401  (a fixture for all tests)
    GPU,
    begin,
    begun,
    few_threads,
    ordered_on,
)
from gpukit.device import cpu as on_cpu
from gpukit.factorization import MatrixFactorization, cpu, gpu
from gpukit.factorization.prepare import training_data
from gpukit.factorization.solvers import Task, training_of

KIND = 5, 0, "users"


def trained(solver, steps, epochs=2, **parameters):
    """Return (DeviceModel after some epochs, Training)."""
    _, orders, scale, _ = data = ordered_on(steps)
    device = GPU if steps is gpu else on_cpu()
    settings = MatrixFactorization(KIND[0], solver=solver, **parameters).check(len(orders))
    made = training_data.prepare_ratings(
        orders, scale, training_data.PreparationOptions("users", 4, False, False), steps
    )
    session = begin(KIND, data, steps, biases=settings.biases)
    task = Task(orders, scale, made, settings, session.layout, steps, device, True)
    solver = training_of(solver)
    training = solver.begin(session, task, solver.arrange(task))
    for epoch in range(epochs):
        training.epoch(epoch)
    return session, training


def assert_alike(one, other, atol):
    for expected, found in zip(one.state(), other.state(), strict=True):
        assert expected.shape == found.shape and expected.dtype == found.dtype
        np.testing.assert_allclose(found, expected, atol=atol)


@pytest.mark.slow
@pytest.mark.parametrize(
    "solver, parameters", [("sgd", {}), ("hogwild", {"regularization": 0.2}), ("als", {"biases": False}), ("als", {})]
)
def test_both_devices_learn_alike(solver, parameters):
    sessions = [trained(solver, steps, **parameters)[0] for steps in (cpu, gpu)]
    assert_alike(*sessions, atol=2e-5)
    start = begun(KIND, cpu)[1].state()
    assert np.abs(sessions[0].state().user_factors - start.user_factors).max() > 1e-3


@pytest.mark.slow
def test_batches_do_not_change_what_is_solved(monkeypatch):
    from gpukit.factorization.solvers import gpu as steps

    whole = trained("als", gpu, epochs=1)[0]
    monkeypatch.setattr(steps, "SCRATCH", 3 * 4 * 64)
    monkeypatch.setattr(steps, "LONGEST", 4)
    parts, training = trained("als", gpu, epochs=1)
    assert min(len(half.batches) for half in training.halves) > 2
    assert_alike(whole, parts, atol=2e-6)
