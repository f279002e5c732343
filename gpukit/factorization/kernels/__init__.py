"""GPU kernels that every way to learn shares; gpukit.factorization.twins has the same files for the CPU.

predict.py    Eq. (1) of pairs                          scores.py  Eq. (1) of a user for all items
codes.py      which neighbours were rated, and how      rows.py    parameter rows over a group of lanes
influence.py  the neighbourhood's terms of Eq. (1)

A group of `lanes` threads works on one rating: a lane holds quads of factors and of neighbours (primitives/rows.py).
"""
