"""Vertices by columns as a matrix of low rank: singular values are thresholded, and what is missing filled in, in turn.

    Z_next = S_t(M(Y) + (1 - M)(Z + momentum (Z - Z_before)))          S_t: singular values less t, 0 at least

| file       | what it has                                                                                            |
|------------|--------------------------------------------------------------------------------------------------------|
| plan.py    | sizes, thresholds                                                                                      |
| method.py  | the method 'soft-impute', and many problems at once                                                    |
| walk.py    | the steps of many matrices side by side, once for both devices                                         |
| cpu.py | gpu.py -> twins.py | kernels.py   products with a matrix, the momentum                                    |

Products with the matrix are the device's; what is left to decompose, a row for a vertex, or for a singular vector, is
the host's: a matrix for each thread. Source: Mazumder, Hastie, Tibshirani, "Spectral regularization algorithms for
learning large incomplete matrices", JMLR 11 (2010), Algorithm 1; momentum, which takes half of its steps: Beck,
Teboulle, SIAM J. Imaging Sci. 2 (2009), begun anew where it points backwards (O'Donoghue, Candes, Found. Comput. Math.
15 (2015)).
"""
