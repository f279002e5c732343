"""GPU kernels shared by all solvers.

    scores.py     Eq. (1) of pairs, and of a user for all items     codes.py   ratings of an item's neighbours
    influence.py  parameter rows over a group of lanes; the neighbourhood's terms of Eq. (1)

gpukit.factorization.twins has the same files for the CPU. A group of `lanes` threads works on one rating: a lane holds
quads of factors and of neighbours (primitives/rows.py).
"""
