"""Kriging: a Gaussian process over the graph, with a Matern covariance of its normalized Laplacian.

    K = (I + rho L)^-nu                                 L: the graph's normalized Laplacian; nu = 1, 2 or 4
    x = m + K_mo (K_oo + tau I)^-1 (y - m)              m: the mean by generalized least squares

rho, nu and tau minimize the leave-one-out errors, in closed form: with Q = A - A 1 1' A / 1' A 1 and
A = (K_oo + tau I)^-1 they are (Q y)_i / Q_ii. Series in time are transformed to frequencies by a cosine transform along
the columns. Each band of frequencies has its own rho, nu and tau, because slow changes have a longer correlation length
and a better signal-to-noise ratio. Unobserved vertices are then predicted from all others.

    covariance.py   K, leave-one-out errors, predictions   method.py   the method 'kriging'      plan.py   sizes

Matrices use LAPACK. Cost: an inverse of the observed vertices' matrix for each of GRID.
Source: Borovitskiy et al., "Matern Gaussian processes on graphs", AISTATS 2021; leave-one-out: Dubrule, Math. Geol. 15
(1983).
"""
