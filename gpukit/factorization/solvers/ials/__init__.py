"""iALS: factors of clicks by alternating least squares over all pairs, without sampled negatives.

training.py    an epoch, for either device         formulas.py   the loss, its normal equations, the row solver
cpu.py, gpu.py solution of a side's rows           fold.py       fold_in: exact rows, given the other side

Kernels, each with its twins:

products_kernels.py  gradients from a row's clicks          descent_kernels.py  a step of conjugate gradients
few_kernels.py       rows of few clicks, one unknown each   inverse_kernels.py  the preconditioner, in panels
blocks_kernels.py    a block of factors of each row, others fixed

Papers: Hu, Koren and Volinsky, "Collaborative Filtering for Implicit Feedback Datasets", ICDM 2008; Takacs, Pilaszy and
Tikk, "Applications of the Conjugate Gradient Method for Implicit Feedback Collaborative Filtering", RecSys 2011;
Rendle, Krichene, Zhang and Koren, "Revisiting the Performance of iALS on Item Recommendation Benchmarks", RecSys 2022
(arXiv:2110.14037), for the loss and its regularization; the same, "iALS++: Speeding up Matrix Factorization with
Subspace Optimization" (arXiv:2110.14044), for blocks of factors.

Cost of an epoch: (M + N) F^2 for the sums over all rows. In addition: nnz F^2 / 2 multiplications per side and (M + N)
F^3 / 6 by elimination (n^2 F / 2 + n^3 / 6 for a row of few clicks n); or (STEPS + 1) (2 nnz F per side + 2 (M + N)
F^2) by conjugate gradients; or nnz F (B / 2 + 3) per side and (M + N) F (F + B^2 / 6) by blocks of B factors.
Deterministic: yes, for any number of threads.
"""

from gpukit.factorization.solvers.ials.fold import fold_in

__all__ = ["fold_in"]
