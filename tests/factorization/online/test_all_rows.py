"""Rows before an epoch over the whole history, row by row in plain Python."""

import numpy as np

from gpukit.factorization.model.layout import SQUARES
from gpukit.factorization.model.state import State
from gpukit.factorization.online.run import shrink_factors


def test_factors_shrink_and_grown_rows_learn_faster():
    rng = np.random.default_rng(0)
    users, items = [rng.standard_normal((rows, width)) for rows, width in ((3, 4), (2, 4))]
    extras = [rng.random((rows, 3)) + 1 for rows in (3, 2)]
    state = State(users, extras[0], items, extras[1], rng.standard_normal((2, 2, 5)), np.zeros((2, 5), np.int32))
    fresh = np.array([False, True, False]), np.array([False, True])
    known = np.array([0.5, 0.25, 1.0]), np.array([0.2, 0.9])
    before = [array.copy() for array in state]
    found = shrink_factors(state, fresh, known, 0.8)
    for side in (0, 1):
        for row, is_new in enumerate(fresh[side]):
            factors, others = before[2 * side][row], before[2 * side + 1][row].copy()
            others[SQUARES] *= 1 if is_new else known[side][row] ** 3
            np.testing.assert_allclose(found[2 * side][row], factors if is_new else 0.4 * factors, rtol=1e-6)
            np.testing.assert_allclose(found[2 * side + 1][row], others, rtol=1e-6)
    np.testing.assert_allclose(found.influence, before[4] * np.array([0.8, 1])[:, None, None], rtol=1e-6)
    assert all(np.array_equal(one, other) for one, other in zip(state, before))
