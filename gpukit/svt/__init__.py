"""Singular-value thresholding of many matrices at once: U (S - lambda)+ V' for every slice of a stack.

    singular_value_threshold(X, lam) -> Y            the proximal operator of lambda times the nuclear norm
    gpu.py | cpu.py: bidiagonalize -> chase -> rotate -> arrange -> multiply   (kernels/ | twins/, plan.py)
    host/            of arrays that lie on the host, there and back
    lapack.py        large slices of float64 on the CPU, by numpy's LAPACK
    warm_start.py    slices along a path of thresholds, by what is fastest:
    subspace.py      in a subspace kept from call to call       products.py    by matrix products alone, large slices
    tools.py         what these two need of a device            formulas.py    scalar maths, cited

Exact, and without U. A slice, or its transpose, whichever is tall, is B (q, p). Reflections from both sides make it
bidiagonal (Golub and Kahan), of which only those that turn its columns are kept, multiplied out: V. Implicit QR sweeps
make the bidiagonal diagonal; their rotations turn V's rows into singular vectors; the result is
B V' diag((1 - lambda / sigma)+) V, V's rows reduced to those above lambda.

On a GPU a block bidiagonalizes a slice, in shared memory where it fits, both reflections of a step in one pass; a
thread chases a bidiagonal and writes its rotations down; a lane turns a column of V, two sweeps at a time.

Cost of a slice: 8/3 q p^2 operations to bidiagonalize, 4/3 p^3 for V, about 5 p^3 for the rotations (0.8 p^2 of them
for Gaussian slices, 0.5 p^2 for nearly low-rank ones), 4 q p r for a result of rank r. Deterministic.
Source: Algorithm 2 of the graph-tensor imputation paper; formulas.py cites the rest. docs/svt.md has the measurements.
"""

from gpukit.svt.threshold import singular_value_threshold

__all__ = ["singular_value_threshold"]
