"""Batch-Hogwild (cuSGD's way): workers take batches of ratings in random order and step from both rows at once,
whatever others add to them meanwhile.

training.py    an epoch, written once     kernels.py, twins.py  the ratings in random order, one epoch
cpu.py, gpu.py workers, launches          rates.py              learning rate and epochs by default
arrays.py      what they hand around

Paper: Xie, Tan, Fong and Liang, "CuMF_SGD: Parallelized Stochastic Gradient Descent for Matrix Factorization on GPUs",
HPDC 2017. The steps are those of sgd/formulas.py, Eq. (5), at the rate of Eq. (7) for all rows. Deterministic: with one
worker.
"""
