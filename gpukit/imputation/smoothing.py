"""Baselines of imputation on graphs: the mean, Tikhonov regularization, feature propagation.

All of them process every entry of the slices independently: column j of the tensor as an (N, m n) matrix depends only
on column j of the data. Errors may therefore be computed from a sample of columns.

Each function returns the completed tensor (N, m, n), observed values unchanged. It takes tensor (N, m, n) float32 or
float64 and mask (N,) or (N, m, n) bool, True where observed; other values of the tensor are not read.
"""

from typing import NamedTuple

import numpy as np

from gpukit._pool import shared_out
from gpukit.base import check_integer, check_real
from gpukit.graphs.adjacency import laplacian, normalized_adjacency, normalized_laplacian
from gpukit.imputation.centering import centred, mean_of, restored, spread
from gpukit.imputation.constants import BLOCK_NUMBERS

TAUS = tuple(10.0 ** np.arange(1.0, -3.01, -0.5))  # falling: each solution starts the next
CENTERS = ("global", "entry")
TOLERANCE, ROUGH = 1e-8, 1e-4  # of a single solution; of solutions on a grid


def vertex_mean(tensor, mask):
    """Fill each missing entry with the mean over the vertices that observe it.

    The mean of all values is used if no vertex does.
    """
    return restored(tensor, mask, np.zeros((1, 1, 1)), mean_of(tensor, mask, "entry"))


def tikhonov(laplacian, tensor, mask, tau, start=None):
    """Minimize sum over observed (x_i - g_i)^2 + tau x'L x for each entry, by conjugate gradients.

    laplacian: scipy.sparse (N, N), either one; tau > 0: towards 0 the result is harmonic interpolation. start (N, m,
    n): initial values (None: the observed values, else 0). The result shrinks to the Laplacian's null space, so the
    data should be centred, above all for the normalized Laplacian. A component of the graph without observations stays
    at 0 (at the smooth part of start, if passed). Solved in float64 until the scaled residual is 1e-8 of its start.
    Raises ParameterError for another tau.
    Source: Belkin, Matveeva, Niyogi, "Regularization and semi-supervised learning on large graphs" (2004).
    """
    return _keep(tensor, mask, smoothed(laplacian, tensor, mask, tau, start))


def smoothed(laplacian, tensor, mask, tau, start=None, tolerance=TOLERANCE):
    """Return the minimum of tikhonov() at every vertex, observed ones too: (N, m, n) float64.

    Arguments as tikhonov; tolerance: of the scaled residual, relative to its start.
    """
    tau, shape = check_real("tau", tau, 0.0, strict=True), tensor.shape
    data, seen = _columns(centred(tensor, mask, np.zeros(shape[1:]))), _columns(spread(mask))
    start = data if start is None else _columns(start)
    out, width = np.empty(data.shape), max(1, BLOCK_NUMBERS // shape[0])

    def solved(first):
        part = slice(first, first + width)
        seen_part = seen if seen.shape[1] == 1 else seen[:, part]
        out[:, part] = _solve(System(laplacian, seen_part, tau, tolerance), data[:, part], start[:, part])

    shared_out(solved, range(0, data.shape[1], width))
    return out.reshape(shape)


def feature_propagation(adjacency, tensor, mask, iterations=40):
    """Diffuse by D^-1/2 A D^-1/2 from 0, resetting observed values after every step.

    adjacency: scipy.sparse csr (N, N), checked. The data should be centred. Source: Rossi et al., "On the unreasonable
    effectiveness of feature propagation in learning on graphs with missing node features" (2021), Algorithm 1.
    """
    check_integer("iterations", iterations, 1)
    step, seen = normalized_adjacency(adjacency), _columns(spread(mask))
    data = _columns(centred(tensor, mask, np.zeros(tensor.shape[1:])))
    x = data
    for _ in range(iterations):
        x = np.where(seen, data, step @ x)
    return _keep(tensor, mask, x.reshape(tensor.shape))


def all_baselines(adjacency, tensor, mask, centers=CENTERS):
    """Yield (name, setting, completed tensor) of every baseline and setting, to about 1e-4.

    name: 'vertex mean', 'Tikhonov', 'Tikhonov, normalized' or 'feature propagation'; setting: a dict of tau or
    iterations, and center: the mean that was subtracted.
    """
    yield "vertex mean", {}, vertex_mean(tensor, mask)
    for center in centers:
        mean = mean_of(tensor, mask, center)
        data = centred(tensor, mask, mean)
        for name, setting, estimate in _smooth(adjacency, data, mask):
            yield name, {**setting, "center": center}, restored(tensor, mask, estimate, mean)


def _smooth(adjacency, data, mask):
    """Yield (name, setting, estimate) of all_baselines on centred data."""
    for name, form in (("Tikhonov", laplacian), ("Tikhonov, normalized", normalized_laplacian)):
        matrix, guess = form(adjacency), None
        for tau in TAUS:
            guess = smoothed(matrix, data, mask, tau, guess, ROUGH)
            yield name, {"tau": tau}, guess
    for iterations in (2, 5, 10, 40):
        yield "feature propagation", {"iterations": iterations}, feature_propagation(adjacency, data, mask, iterations)


def _columns(array):
    return array.reshape(len(array), -1)


def _keep(tensor, mask, estimate):
    return restored(tensor, mask, estimate, np.zeros(tensor.shape[1:]))


class System(NamedTuple):
    """(diag(seen) + tau L) x = data, a system for each column: seen (N, 1) or (N, columns)."""

    laplacian: object
    seen: np.ndarray
    tau: float
    tolerance: float

    def image(self, x):
        """Return the left side."""
        return self.seen * x + self.tau * (self.laplacian @ x)

    def diagonal(self):
        """Return (N, 1) or (N, columns) above 0.

        The row of an isolated unobserved vertex is 0 = 0.
        """
        diagonal = self.seen + self.tau * self.laplacian.diagonal()[:, None]
        return np.where(diagonal > 0.0, diagonal, 1.0)


def _solve(system, data, start):
    """Solve all columns of a System: x (N, columns) float64.

    The residual is divided by the diagonal, so that missing entries count as much as observed ones for small tau.
    """
    data, diagonal = data.astype(np.float64), system.diagonal()
    x = np.where(data.any(axis=0), start, 0.0)  # the solution for zeros is 0
    residual = data - system.image(x)
    scaled = residual / diagonal
    goal = system.tolerance**2 * _dot(data / diagonal, data / diagonal)
    direction, size = scaled.copy(), _dot(residual, scaled)
    for _ in range(2000):
        if (_dot(scaled, scaled) <= goal).all():
            break
        image = system.image(direction)
        length = _ratio(size, _dot(direction, image))
        x += length * direction
        residual -= length * image
        scaled = residual / diagonal
        last, size = size, _dot(residual, scaled)
        direction = scaled + _ratio(size, last) * direction
    return x


def _dot(a, b):
    return np.einsum("ij,ij->j", a, b)


def _ratio(a, b):
    """Return a / b, and 0 where b is 0, so that a solved column is unchanged."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0.0)
