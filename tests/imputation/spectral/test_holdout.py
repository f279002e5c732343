"""Held-out values: number, pattern, and no access by the methods."""

import numpy as np
import pytest

from gpukit.device import resolve
from gpukit.errors import DataError
from gpukit.graphs.basis import Basis
from gpukit.imputation.spectral.path import Options
from gpukit.imputation.spectral.run import Place, Setting, impute, split
from imputation.inputs import KINDS, problem


@pytest.mark.parametrize("kind", KINDS)
def test_a_share_of_what_is_observed_is_hidden(kind):
    mask = problem(kind=kind, N=50).mask
    parts = split(mask, 0.2, 3)
    assert not (parts.hidden & ~mask).any()
    np.testing.assert_array_equal(parts.observed, mask & ~parts.hidden)
    np.testing.assert_array_equal(parts.hidden, split(mask, 0.2, 3).hidden)
    assert (parts.hidden != split(mask, 0.2, 4).hidden).any()
    whole = kind in ("slices", "one vertex", "both")
    seen = (mask.any(axis=(1, 2)) if mask.ndim == 3 else mask) if whole else mask
    hidden = parts.hidden.any(axis=(1, 2)) if whole and mask.ndim == 3 else parts.hidden
    assert hidden.sum() == round(0.2 * seen.sum())
    if whole and mask.ndim == 3:
        np.testing.assert_array_equal(parts.hidden, mask & hidden[:, None, None])


def test_hiding_everything_is_refused():
    with pytest.raises(DataError, match="a share of 0.9 of 3 observed vertices"):
        split(np.array([True, True, True, False]), 0.9, 0)


def imputed(case, tensor, hidden, center="entry"):
    place = Place(Basis(case.mu, case.U, True), resolve("cpu"), np.dtype(np.float64))
    return impute(place, Setting("slice", 1.0, center, Options(6, rank_phase=False)), tensor, case.mask, hidden)


@pytest.mark.parametrize("kind", ["slices", "entries", "both"])
def test_what_is_hidden_is_judged_and_not_seen(kind):
    case = problem((6, 5), kind)
    hidden = split(case.mask, 0.2, 1).hidden
    tensor = np.where(case.mask.reshape(30, *((1, 1) if case.mask.ndim == 1 else (6, 5))), case.truth + 3.0, 0.0)
    outcome, changed = imputed(case, tensor, hidden), tensor.copy()
    changed[hidden] = 99.0
    np.testing.assert_array_equal(imputed(case, changed, hidden).estimate, outcome.estimate)
    completed = tensor.copy()
    completed[~(case.mask & ~hidden)] = outcome.estimate
    error = np.abs(completed - tensor)[hidden].mean()
    assert outcome.fit.history.error[-1] == pytest.approx(error, rel=1e-10)
