"""iALS: factors of clicks by alternating least squares over all pairs, without sampled negatives.

../als.py              an epoch, for either device
formulas.py            the loss, its normal equations, the row solver; fold_in: exact rows, given the other side
kernels.py, twins.py   gradients from a row's clicks, a step of conjugate gradients, their preconditioner

Papers: Hu, Koren and Volinsky, "Collaborative Filtering for Implicit Feedback Datasets", ICDM 2008; Takacs, Pilaszy and
Tikk, "Applications of the Conjugate Gradient Method for Implicit Feedback Collaborative Filtering", RecSys 2011;
Rendle, Krichene, Zhang and Koren, "Revisiting the Performance of iALS on Item Recommendation Benchmarks", RecSys 2022
(arXiv:2110.14037), for the loss and its regularization.

Cost of an epoch: (M + N) F^2 for the sums over all rows. In addition: nnz F^2 / 2 multiplications per side and (M + N)
F^3 / 6 by elimination; or (STEPS + 1) (2 nnz F per side + 2 (M + N) F^2) by conjugate gradients.
Deterministic: yes, for any number of threads.
"""

from gpukit.factorization.solvers.ials.formulas import fold_in

__all__ = ["fold_in"]
