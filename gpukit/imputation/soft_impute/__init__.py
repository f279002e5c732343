"""Soft-impute: a low-rank matrix of vertices by columns, by iterated singular-value thresholding.

    Z_next = S_t(M(Y) + (1 - M)(Z + momentum (Z - Z_before)))          S_t: singular values less t, 0 at least

    method.py     the method 'soft-impute', and many problems at once
    iteration.py  the steps of many matrices in parallel, for both devices
    cpu.py | gpu.py -> twins.py | kernels.py    products with a matrix, the momentum

Products with the matrix run on the device. The remaining decompositions, with a row per vertex or singular vector, run
on the host, a matrix per thread. Source: Mazumder, Hastie, Tibshirani, "Spectral regularization algorithms for
learning large incomplete matrices", JMLR 11 (2010), Algorithm 1; momentum, which halves the number of steps: Beck,
Teboulle, SIAM J. Imaging Sci. 2 (2009), restarted when it points backwards (O'Donoghue, Candes, Found. Comput. Math.
15 (2015)).
"""
