"""CPU twins of gpukit.factorization.kernels, with the same files, names and arguments.

    scores.py     Eq. (1) of pairs, and of a user for all items     codes.py   ratings of an item's neighbours
    influence.py  parameter rows; the neighbourhood's terms of Eq. (1)

Threads take the place of groups of lanes; codes are bytes, (n, K) uint8, not words of four.
"""
