"""Normal equations on the host, with a ridge.

One ridge vanishes next to very large numbers.
"""

import numpy as np

from gpukit.factorization.solvers.squares import solve_symmetric


def test_several_systems_at_once():
    rng = np.random.default_rng(0)
    roots, truth = rng.normal(size=(5, 9, 4)), rng.normal(size=(5, 4, 1))
    matrices = np.swapaxes(roots, 1, 2) @ roots + 0.1 * np.eye(4)
    np.testing.assert_allclose(solve_symmetric(matrices, matrices @ truth), truth, rtol=1e-9)


def test_the_shortest_of_several():
    row = np.array([[1e15, 2e15, 0.0]])
    found = solve_symmetric(row.T @ row, row.T * 5e15)
    assert np.linalg.norm(row @ found - 5e15) < 1.0 and found[2] == 0.0
    np.testing.assert_allclose(found, [[1.0], [2.0], [0.0]], rtol=1e-9)
