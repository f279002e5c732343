"""The method 'spectral' and simple methods on the same hidden values."""

import numpy as np
import pytest

from gpukit import GraphImputer
from gpukit.imputation.auto import masking
from gpukit.imputation.serve import setting_of
from gpukit.imputation.spectral.run import impute
from imputation import naive_baselines as naive

N, SHAPE = 40, (40, 3, 5)
SETTING = {"weights": "frequency", "center": "entry", "iterations": 12, "decay": 0.6}
NAMES = {"spectral", "vertex-mean", "vertex-median", "two-way-mean"}


def case(entries):
    """(A, tensor, mask) of a ring with smooth signals."""
    rng = np.random.default_rng(4)
    A = np.zeros((N, N))
    A[np.arange(N), (np.arange(N) + 1) % N] = 1.0
    angle = 2 * np.pi * np.arange(N)[:, None, None] / N
    truth = 20.0 + 4.0 * np.sin(angle + rng.uniform(0, 6, (1, 3, 5))) + 0.2 * rng.normal(size=SHAPE)
    mask = rng.random(SHAPE if entries else N) > 0.2
    return A + A.T, np.where(naive.whole(mask, SHAPE), truth, 0.0), mask


@pytest.mark.parametrize("entries", [False, True])
def test_all_are_judged_on_the_same_hidden_values(entries):
    A, tensor, mask = case(entries)
    before = tensor.copy()
    options = {"accelerate": False, "rank_phase": False, "dtype": "float64", "device": "cpu", "random_state": 7}
    model = GraphImputer(**SETTING, **options).fit(A, tensor, mask)
    run = model.prepare(A, tensor, mask)
    setting = setting_of(model)._replace(weights="common")  # not that of the parameters
    rows = run.compare(setting)
    assert {row.name for row in rows} == NAMES and [row.error for row in rows] == sorted(row.error for row in rows)
    folds = [hidden.values.reshape(SHAPE) for hidden in masking.folds_of(run.problem(), 7)]
    found = {row.name: row.error for row in rows}
    errors = {"spectral": [], "vertex-mean": []}
    for hidden in folds:
        seen = naive.whole(mask, SHAPE) & ~hidden
        values = np.where(seen, tensor, 0.0)
        mean = np.broadcast_to(naive.mean(values, seen, "entry"), SHAPE)
        errors["vertex-mean"].append(np.abs(mean - tensor)[hidden].mean())
        completed = values.copy()
        known = seen.all(axis=(1, 2)) if not entries else seen
        completed[~known] = impute(run.place, setting, values, known).estimate
        errors["spectral"].append(np.abs(completed - tensor)[hidden].mean())
    for name, parts in errors.items():
        assert found[name] == pytest.approx(np.mean(parts)), name
    assert (tensor == before).all()
