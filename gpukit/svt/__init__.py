"""Singular-value thresholding of many matrices at once: U (S - lambda)+ V' for every slice of a stack.

    singular_value_threshold(X, lam) -> Y            the proximal operator of lambda times the nuclear norm
    GPU: `gpu.threshold` -> kernels.threshold_slices          CPU: `cpu.threshold` -> twins.threshold_slices

Exact, without U and without a second matrix for V. A slice of more rows than columns (else its transpose) is B = Q R,
by modified Gram-Schmidt with pivoting; Q is not kept. One-sided Jacobi turns the rows of R until they are orthogonal:
what they become is A = diag(sigma) V', and Y = B A' diag((1 - lambda / sigma)+ / sigma^2) A. Vectors that lie below
lambda even taken together are not made orthogonal to each other (formulas.MARGIN): they are thresholded away.

Cost of an m x n slice, m >= n: m n^2 for QR, 3 to 5 n^3 / 2 a sweep, 4 to 12 sweeps, 2 m n r for Y of rank r.
Deterministic. Source: Algorithm 2 of the graph-tensor imputation paper; formulas.py cites the rest.
"""

from gpukit.svt.threshold import singular_value_threshold

__all__ = ["singular_value_threshold"]
