"""The imputation and simple methods on the same hidden values."""

import numpy as np
import pytest

from gpukit.device import resolve
from gpukit.graphs.adjacency import as_adjacency
from gpukit.graphs.basis import fourier_basis
from gpukit.imputation.spectral import choose
from gpukit.imputation.spectral.path import Options
from gpukit.imputation.spectral.run import Place, Setting, impute
from imputation import naive_baselines as naive

N, SHAPE = 40, (40, 3, 5)
SETTING = Setting("frequency", 1.0, "entry", Options(iterations=12, decay=0.6, accelerate=False, rank_phase=False))
NAMES = {"imputation", "vertex-mean", "vertex-median", "two-way-mean"}


def case(entries):
    """(A, place, tensor, mask) of a ring with smooth signals."""
    rng = np.random.default_rng(4)
    A = np.zeros((N, N))
    A[np.arange(N), (np.arange(N) + 1) % N] = 1.0
    A = A + A.T
    place = Place(fourier_basis(as_adjacency(A), cache=False), resolve("cpu"), np.dtype(np.float64))
    angle = 2 * np.pi * np.arange(N)[:, None, None] / N
    truth = 20.0 + 4.0 * np.sin(angle + rng.uniform(0, 6, (1, 3, 5))) + 0.2 * rng.normal(size=SHAPE)
    mask = rng.random(SHAPE if entries else N) > 0.2
    return A, place, np.where(naive.whole(mask, SHAPE), truth, 0.0), mask


def compared(A, place, tensor, mask):
    """Rows of the comparison, of seed 7."""
    sample = choose.sample_of(tensor, mask, 7)
    return choose.compare(as_adjacency(A), place, SETTING, sample)


@pytest.mark.parametrize("entries", [False, True])
def test_a_sample_hides_what_choosing_hides(entries):
    _, _, tensor, mask = case(entries)
    sample = choose.sample_of(tensor, mask, 7)
    np.testing.assert_array_equal(sample.parts.hidden, choose.splits(tensor, mask, 7)[0].hidden)
    assert sample.tensor is tensor


@pytest.mark.parametrize("entries", [False, True])
def test_all_are_judged_on_the_same_hidden_values(entries):
    A, place, tensor, mask = case(entries)
    before = tensor.copy()
    rows = compared(A, place, tensor, mask)
    found = {row.name: row for row in rows}
    assert set(found) == NAMES and len(rows) == len(NAMES)
    assert [row.error for row in rows] == sorted(row.error for row in rows)
    parts = choose.splits(tensor, mask, 7)[0]
    mean = np.broadcast_to(naive.mean(tensor, parts.observed, "entry"), SHAPE)
    assert found["vertex-mean"].error == pytest.approx(np.abs(mean - tensor)[parts.hidden].mean())
    outcome = impute(place, SETTING, tensor, mask, parts.hidden)
    assert found["imputation"].error == pytest.approx(outcome.fit.history.error[-1])
    assert (tensor == before).all()
