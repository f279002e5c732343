"""Linear RankSVM solved: tron (trust-region Newton) asks the objective, which asks a session; path walks the grid of C.

choose.py       which solver, device, threads           counting.py     DCM and OST, the paper's rivals on the CPU
held_out.py     C and the scale, where they are left open, by queries held out
hard_margins.py a path of C to the minimum, where a trust region crawls
objective.py    f, gradient, H v, preconditioner        sparse_gram.py  the preconditioner's matrix of a sparse X
"""
