"""Kriging: a Gaussian process over the graph, with a Matern covariance of its normalized Laplacian.

    K = (I + rho L)^-nu                                 L: the graph's normalized Laplacian; nu = 1, 2 or 4
    x = m + K_mo (K_oo + tau I)^-1 (y - m)              m: the mean by generalized least squares

rho, nu and tau are those whose leave-one-out errors are least, in closed form: with
Q = A - A 1 1' A / 1' A 1 and A = (K_oo + tau I)^-1 they are (Q y)_i / Q_ii. Series in time are first turned into
frequencies (a cosine transform along the columns); each band of them has its own rho, nu and tau, as what changes
slowly is alike over longer ways and stands out of the noise more. Then vertices of which nothing is observed are told
from all the others.

    covariance.py   K, leave-one-out errors, what is told      method.py   the method 'kriging'      plan.py   sizes

The matrices are LAPACK's. Cost: an inverse of the observed vertices' matrix for each of GRID.
Source: Borovitskiy et al., "Matern Gaussian processes on graphs", AISTATS 2021; leave-one-out: Dubrule, Math. Geol. 15
(1983).
"""
