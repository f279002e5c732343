"""simLSH (Li et al., Eq. 3): bit g of an item's code is the sign of sum_i Psi(r_ij) * (+1 or -1 by bit g of user i), 1
where the sum is nonnegative; Psi(r) = r**psi.

Exact: the weights are integers, and 32 sums at a time are kept bit-sliced (formulas.py). O(ratings * n_words).
"""
