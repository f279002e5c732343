"""Singular-value thresholding of a stack of matrices: U (S - lambda)+ V' of every slice.

    singular_value_threshold(X, lam) -> Y            the proximal operator of lambda times the nuclear norm
    gpu.py | cpu.py: bidiagonalize -> chase -> rotate -> arrange -> multiply   (kernels/ | twins/, plan.py)
    threshold.py     singular_value_threshold
    subspace.py      slices along a path of thresholds, by the fastest method: in a subspace reused between calls, or
    products.py      by matrix products alone; array operations of a device
    formulas.py      scalar formulas with sources           plan.py        layout by shape

The result is exact, and U is not computed. B (q, p) is a slice or its transpose, whichever is tall. Reflections from
both sides make it bidiagonal (Golub and Kahan). The product of the column reflections is V. Implicit QR sweeps
diagonalize the bidiagonal matrix; their rotations turn V's rows into singular vectors. The result is
B V' diag((1 - lambda / sigma)+) V, with only the rows of V whose singular value is above lambda.

On a GPU a block bidiagonalizes a slice, in shared memory if it fits; both reflections of a step are one pass. A thread
runs the QR sweeps of a bidiagonal matrix and stores its rotations. A lane rotates a column of V, two sweeps at a time.

Cost of a slice: 8/3 q p^2 operations to bidiagonalize, 4/3 p^3 for V, about 5 p^3 for the rotations (0.8 p^2 of them
for Gaussian slices, 0.5 p^2 for nearly low-rank ones), 4 q p r for a result of rank r. Deterministic.
Source: Algorithm 2 of the graph-tensor imputation paper; formulas.py cites the rest. docs/svt.md has the measurements.
"""

from gpukit.svt.threshold import singular_value_threshold

__all__ = ["singular_value_threshold"]
