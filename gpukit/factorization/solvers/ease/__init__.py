"""EASE: weights between items by least squares, from the clicks alone.

    B = I - P diag(1 / diag P),    P = (X'X + lambda I)^-1,    X (M, N): 1 for a click

B minimizes |X - X B|^2 + lambda |B|^2 with a diagonal of 0. The scores of a user are the sum of B's rows of the items
that the user has clicked, so a new user needs no training.

training.py    B, and scores without B, by the inverse of the smaller side, and its correction; on a GPU B by cuBLAS
               and cuSOLVER; where B does not fit, regressions of each item on its neighbours (kernels.py, twins.py);
               EASE as a baseline of lists, with its default regularization. There are no epochs

Paper: Steck, "Embarrassingly Shallow Autoencoders for Sparse Data", WWW 2019 (arXiv:1905.03375).
Cost, n = min(M, N): the sums of squares of the clicks per row (of the larger side), n^3 for the inverse, and with fewer
users than items nnz N for the product with X. Memory: three matrices of N x N numbers. With K neighbours of an item:
the clicks of them, the users whom two of them share, and K^3 / 6. Memory: 8 N K bytes. Deterministic: yes.
"""
