"""simLSH (Li et al., Eq. 3): bit g of an item's code is the sign of sum_i Psi(r_ij) * (+1 or -1 by bit g of user i).

It is 1 for a nonnegative sum; Psi(r) = r**psi. Exact: the weights are integers, and 32 sums at a time are bit-sliced
(formulas.py). O(ratings * n_words).
"""
