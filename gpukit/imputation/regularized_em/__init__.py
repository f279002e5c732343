"""Regularized EM: columns are draws of one normal distribution over the vertices, of any means and covariances.

    S = mean over columns t of (x_t - m) (x_t - m)'  +  C_mis        x_t: what is seen, and what is filled in
    P = (S + ridge I)^-1
    x_it = m_i - sum over j != i of P_ij / P_ii (x_jt - m_j)          wherever x_it is missing

in turn, until what is filled in stays. C_mis is what filling in by a mean takes from the variances: for a vertex of
which a share s is missing s / P_ii. Vertices are in units of their deviations, so that ridge has none. Of columns in
time x_t has the columns before and after it too (lags = 1), from what was found without them.

It needs no graph, and tells a vertex from any others: sensors of unlike kinds, parts and their sum.

    normal.py   S, P and what they tell      method.py   the method 'regularized-em'      plan.py   sizes

The inverse is LAPACK's. Cost of a round: n^2 T + n^3 for n = N (1 + 2 lags) rows and T columns.
Source: Dempster, Laird, Rubin, "Maximum likelihood from incomplete data via the EM algorithm" (1977); Schneider,
"Analysis of incomplete climate data", J. Climate 14 (2001), whose ridge it is.
"""
