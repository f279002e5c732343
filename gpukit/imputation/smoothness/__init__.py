"""Smoothness over the product of graph and time, by conjugate gradients.

    minimum over X of ||M (X - Y)||^2 + a tr X' L X + b tr X D X' + c tr X' L X D,    D = D_1 + sum over lags s_k D_k

L is the graph's normalized Laplacian, of edges weighed by how alike their ends change where that tells more; D_1 the
differences of neighbouring columns, over their distance in time; D_k those of columns a lag apart (a period, seven
periods). a: neighbours are alike; b: a value is like the one before it; c: neighbours *move* alike, which tells more
than either. M: what is observed. The level, of the table and of its columns, is taken off first, and vertices are
measured in units of their usual change; a, b, c and s are those that hidden values are told best by.

    plan.py      sizes                             graph.py     L
    formulas.py  scalar maths                      choose.py    a, b, c, s by hidden values, coarse to fine
    cpu.py | gpu.py -> twins.py | kernels.py       solve.py     conjugate gradients, once for both devices
                                                   method.py    the method 'smoothness'

Preconditioned by the diagonal: the graph's and the cosine basis halve the steps, and cost more than they save
(docs/imputation.md). float32, sums of products float64. Cost: a step reads every edge of every column once.
Deterministic. Source: Qiu et al., "Time-varying graph signal reconstruction", IEEE J. Sel. Top. Signal Process. 11
(2017), for c; Hestenes and Stiefel, J. Res. NBS 49 (1952).
"""
