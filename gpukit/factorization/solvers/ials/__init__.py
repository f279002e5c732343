"""iALS: factors of clicks, learned by alternating least squares over all pairs; no negatives are sampled.

training.py    an epoch, written once for either device     kernels/, twins/   conjugate gradients, blocks, few clicks
cpu.py, gpu.py how a side's rows are solved for             formulas.py        the loss, its normal equations
plan.py        which way to solve at which F                rates.py           parameters by default
fold.py        fold_in: rows of new users and items, exactly, given the other side

Papers: Hu, Koren and Volinsky, "Collaborative Filtering for Implicit Feedback Datasets", ICDM 2008; Takacs, Pilaszy
and Tikk, "Applications of the Conjugate Gradient Method for Implicit Feedback Collaborative Filtering", RecSys 2011;
Rendle, Krichene, Zhang and Koren, "Revisiting the Performance of iALS on Item Recommendation Benchmarks", RecSys 2022
(arXiv:2110.14037), whose loss and regularization these are; the same, "iALS++: Speeding up Matrix Factorization with
Subspace Optimization" (arXiv:2110.14044), whose blocks of factors these are. Cost of an epoch: (M + N) F^2 for the sums
over all rows, and nnz F^2 / 2 multiplications a side and (M + N) F^3 / 6 by elimination (n^2 F / 2 + n^3 / 6 for a row
of few clicks n), or (STEPS + 1) (2 nnz F a side + 2 (M + N) F^2) by conjugate gradients, or nnz F (B / 2 + 3) a side
and (M + N) F (F + B^2 / 6) by blocks of B factors. Deterministic: yes, for any number of
threads.
"""

from gpukit.factorization.solvers.ials.fold import fold_in

__all__ = ["fold_in"]
