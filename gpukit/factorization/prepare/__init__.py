"""Preparation of ratings for training: from their orders (gpukit.ratings.orders) to the first epoch.

    training_data.py         scale, history, side, biases, queries, weights
    cpu.py | gpu.py          host steps -> twins.py | kernels.py
    conflict_free_blocks.py  blocks without conflicts, for deterministic training
    trend.py                 damped biases that depend on a row's number of ratings
    formulas.py              scalar formulas

Only the blocks are sorted here. Rows are shuffled by a permutation that each rating computes for itself.
"""
