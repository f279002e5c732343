"""Batch-Hogwild, as in cuSGD: workers process batches of ratings in random order and update both rows without locks.

training.py    an epoch, for either device   kernels.py, twins.py  ratings in random order, one epoch

Paper: Xie, Tan, Fong and Liang, "CuMF_SGD: Parallelized Stochastic Gradient Descent for Matrix Factorization on GPUs",
HPDC 2017. The steps are those of sgd/formulas.py, Eq. (5), at the rate of Eq. (7) for all rows. Deterministic: with one
worker.
"""
