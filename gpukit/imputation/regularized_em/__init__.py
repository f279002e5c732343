"""Regularized EM: columns are samples of a normal distribution over the vertices, with unknown mean and covariance.

    S = mean over columns t of (x_t - m) (x_t - m)'  +  C_mis        x_t: observed and imputed values
    P = (S + ridge I)^-1
    x_it = m_i - sum over j != i of P_ij / P_ii (x_jt - m_j)          wherever x_it is missing

These steps alternate until the imputed values converge. C_mis corrects the variance that imputation by a mean loses:
for a vertex with a share s of missing values s / P_ii. Vertices are divided by their standard deviations, so that
ridge has no unit. For columns in time x_t includes the columns before and after (lags = 1), from the result without
them.

The method needs no graph and predicts a vertex from any others: different kinds of sensors, parts and their sum.

    normal.py   S, P and predictions         method.py   the method 'regularized-em'

The inverse uses LAPACK. Cost of a round: n^2 T + n^3 for n = N (1 + 2 lags) rows and T columns.
Source: Dempster, Laird, Rubin, "Maximum likelihood from incomplete data via the EM algorithm" (1977); Schneider,
"Analysis of incomplete climate data", J. Climate 14 (2001), for the ridge.
"""
