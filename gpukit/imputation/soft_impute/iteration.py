"""Steps of many matrices in parallel: device products, then all decompositions."""

import numpy as np

from gpukit._pool import alone, shared_out

STEPS = 25
CHANGE = 1e-2  # relative change of the estimate at which it stops
WHOLE = 512  # largest number of rows with all singular values; otherwise only the largest, from the last step
SPARE = 10  # additional singular vectors


def completed(steps, matrices, shares):
    """Return [(n, m) float32], low-rank estimates of matrices (cpu.DeviceMatrix); shares: see method.SHARES.

    steps: the module of the matrices.
    """
    iterations = [Iteration(matrix, share) for matrix, share in zip(matrices, shares)]
    steps.run_all(iterations)
    return [matrix.estimated() for matrix in matrices]


def run_alone(iteration):
    """Run all steps of one Iteration."""
    for _ in range(STEPS):
        if iteration.done:
            break
        squares = iteration.squares()
        with alone():
            decompositions = largest(squares)
        iteration.step(*decompositions)


def run_together(iterations):
    """Run all Iterations step by step: one thread for the device, several for the decompositions."""
    for _ in range(STEPS):
        active = [iteration for iteration in iterations if not iteration.done]
        squares = [iteration.squares() for iteration in active]
        with alone():
            decompositions = shared_out(largest, squares)
        for iteration, pair in zip(active, decompositions):
            iteration.step(*pair)


class Iteration:
    """Iterated singular-value thresholding of a matrix's matrix.

    The threshold is a share of the largest singular value of the first matrix.
    """

    def __init__(self, matrix, share):
        self.matrix, self.share, self.threshold = matrix, share, None
        self.near, self.momentum, self.done = None, 1.0, False
        self.rng = np.random.default_rng(0)

    def squares(self):
        """Return (k, k) float32: products of the matrix's rows.

        With many rows: of its projection to the largest known singular vectors.
        """
        matrix = self.matrix
        if matrix.rows <= WHOLE:
            return matrix.squares()
        if self.near is None:
            self.near = self.draw_directions(4 * SPARE)
            for _ in range(4):
                self.near = orthogonal(matrix.multiply_squares(self.near))
        self.near = orthogonal(matrix.multiply_squares(self.near))
        return matrix.project(self.near)

    def step(self, vectors, values):
        """Run one step from the decomposed squares: threshold and apply the momentum."""
        self.lower(*self.extend_vectors(vectors, values))
        dot, change, size = self.matrix.compare()
        if dot > 0 and self.momentum > 1.0:
            self.momentum = 1.0
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self.momentum**2))
        self.done = change <= CHANGE**2 * size
        self.matrix.proceed((self.momentum - 1.0) / following)
        self.momentum = following

    def extend_vectors(self, vectors, values):
        """Return (vectors, values), of more vectors if values above the threshold may be missing."""
        if self.threshold is None:
            self.threshold = self.share * float(values[0])
        while self.near is not None and not self.has_spare(values):
            more = self.draw_directions(min(len(values), self.matrix.rows - len(values)))
            self.near = np.column_stack((self.near, more))
            vectors, values = largest(self.squares())
        return vectors, values

    def has_spare(self, values):
        """Return True if some values are below the threshold, or all are known."""
        kept = int((values > self.threshold).sum())
        return kept + SPARE // 2 <= len(values) or len(values) == self.matrix.rows

    def lower(self, vectors, values):
        """Compute the matrix's estimate by thresholding its matrix."""
        kept = values > max(self.threshold, 1e-6 * float(values[0]))
        left = vectors[:, kept]
        right = (1.0 - self.threshold / values[kept]).astype(np.float32)[:, None] * left.T
        if self.near is None:
            self.matrix.lower(*((left, right) if 2 * len(right) < len(left) else (None, left @ right)))
        else:
            self.matrix.lower(self.near @ left, right)
            self.near = self.near @ vectors[:, : len(right) + 2 * SPARE]

    def draw_directions(self, count):
        """Return (n, count) float32 random directions."""
        return self.rng.normal(size=(self.matrix.rows, count)).astype(np.float32)


def orthogonal(vectors):
    """Return an orthonormal basis of vectors (n, k)."""
    return np.linalg.qr(vectors)[0]


def largest(squares):
    """Return (vectors, roots of the values) of a symmetric matrix, the largest value first."""
    values, vectors = np.linalg.eigh(squares)
    return vectors[:, ::-1], np.sqrt(np.maximum(values[::-1], 0.0))
