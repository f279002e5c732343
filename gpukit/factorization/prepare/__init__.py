"""Ratings made ready for training: everything between their orders (gpukit.ratings.orders) and the first epoch.

    training_data.py  scale, history, side, biases, queries, the session: written once
    cpu.py | gpu.py   its steps -> twins.py | kernels.py
    conflict_free_blocks.py  blocks without conflicts, for deterministic training
    trend.py          damped biases that follow how often a row is rated
    weights.py        weights of ratings in the orders that training reads
    formulas.py       scalar maths

Nothing but those blocks is sorted here: rows are shuffled by a permutation that each rating computes for itself.
"""
