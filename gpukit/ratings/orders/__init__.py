"""Ratings in two orders, by item and by user: sorted once, where the work is, for all that comes after.

    order.py             `order_ratings`: Ratings -> Orders on a device, written once
    resident.py          `ratings_where`: Ratings that lie on a GPU already, numbered and read there
    compressed.py        pairs in order on the host: Ratings.csr, Ratings.csc, and what finds repeated pairs
    levels.py            which values ratings take, and the grid that stands in for too many
    cpu.py | gpu.py      its steps -> twins.py | kernels.py; the sorts are gpukit.primitives.group's

A rating becomes one 64-bit key, user | item | level. Sorted by its lower part it is the columns that simLSH reads (by
item, equal ratings side by side); sorted on by its upper part, the history of every user, items ascending. Both know
where the other has a rating. Neighbours, history, sides, biases and evaluation read these and sort nothing again.

Memory while sorting: 34 bytes a rating, up to 8 more where ratings are not exactly on their levels.
Cost: 6 passes over the keys at Netflix's shape.
Deterministic: yes, exact, the same on every device.
"""
