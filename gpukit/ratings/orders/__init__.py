"""Ratings sorted once by item and by user, on a device.

    order.py             `order_ratings`: Ratings -> Orders on a device; levels: distinct rating values, or a grid
    resident.py          `ratings_where`: Ratings of arrays on a GPU, or of large host arrays, numbered on the GPU
    compressed.py        sorted pairs on the host: Ratings.csr, Ratings.csc, and repeated pairs
    twins.py, kernels.py host steps are device.engine.common_steps; the sorts are in gpukit.primitives.group
    formulas.py          scalar functions compiled for both devices

A rating becomes one 64-bit key, user | item | level. Sorted by its lower part, the keys are the columns that simLSH
reads (by item, equal ratings adjacent). Sorted further by the upper part, they are the history of each user with items
ascending. Each order stores the positions in the other. Neighbours, history, sides, biases and evaluation read these
orders and do not sort again.

Memory while sorting: 34 bytes a rating, up to 8 more if ratings are not exactly on their levels.
Cost: 6 passes over the keys at Netflix's shape.
Deterministic: yes, exact, the same on every device.
"""
