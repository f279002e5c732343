"""The paper's algorithm as the best method without recovery."""

import numpy as np

from gpukit import GraphImputer
from imputation.inputs import problem


def test_slices_of_low_rank_with_noise_are_the_spectral_methods():
    case = problem((8, 7), "slices", rank=1, N=60)
    rng = np.random.default_rng(0)
    noisy = case.truth + 0.4 * case.truth.std() * rng.normal(size=case.truth.shape)
    model = GraphImputer(device="cpu").fit(case.A, noisy, case.mask)
    assert dict(model.plan_.members).keys() == {"spectral"}
    assert len(model.history_.change) and len(model.ranks_) == 60 and model.trials_
    assert model.report_[0].error < 0.7 * {row.name: row.error for row in model.report_}["kriging"]
    np.testing.assert_allclose(model.transform(noisy, case.mask), model.completed_, rtol=1e-5, atol=1e-6)
    assert (model.deviation_[~case.mask] > 0).all() and (model.deviation_[case.mask] == 0).all()
    np.testing.assert_array_equal(model.completed_[case.mask], noisy[case.mask])
