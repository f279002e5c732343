"""Smoothness over the product of graph and time, by conjugate gradients.

    minimum over X of ||M (X - Y)||^2 + a tr X' L X + b tr X D X' + c tr X' L X D,    D = D_1 + sum over lags s_k D_k

L is the graph's normalized Laplacian, with edges weighted by the similarity of their ends' changes if that lowers the
error. D_1 are the differences of adjacent columns, divided by their distance in time; D_k those of columns a lag apart
(a period, seven periods). a: neighbours are similar; b: successive values are similar; c: neighbours *change*
similarly, which is the most informative. M: the mask. The mean of the table and of its columns is subtracted first, and
vertices are divided by their usual change. a, b, c and s minimize the error on hidden values.

    method.py    the method 'smoothness': L; conjugate gradients by twins.py | kernels.py, with formulas.py;
                 a, b, c, s by hidden values, coarse to fine

Preconditioned by the diagonal: the graph's and the cosine basis halve the steps, but cost more than they save
(docs/imputation.md). float32, sums of products float64. Cost: a step reads every edge of every column once.
Deterministic. Source: Qiu et al., "Time-varying graph signal reconstruction", IEEE J. Sel. Top. Signal Process. 11
(2017), for c; Hestenes and Stiefel, J. Res. NBS 49 (1952).
"""
