"""Preparation of ratings for training: from their orders (gpukit.ratings.orders) to the first epoch.

    training_data.py         scale, history, side, biases, queries, weights
    cpu.py | gpu.py          host steps -> twins.py | kernels.py
    formulas.py              scalar formulas

Only the blocks are sorted here. Rows are shuffled by a permutation that each rating computes for itself.
"""
