"""Solution of linear RankSVM: tron (trust-region Newton) minimizes the objective of a session.

choose.py       solver, device, threads                 counting.py     DCM and OST, the paper's rivals on the CPU
hard_margins.py a path of C to the minimum, for slow trust regions
objective.py    f, gradient, H v, preconditioner
"""
