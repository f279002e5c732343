"""Preparation of ratings for training: from their orders (gpukit.ratings.orders) to the first epoch.

    training_data.py         scale, history, side, biases, queries, weights
    kernels.py, twins.py     the steps of factorization/cpu.py and gpu.py
    formulas.py              scalar formulas

Only the blocks are sorted here. Rows are shuffled by a permutation that each rating computes for itself.
"""
