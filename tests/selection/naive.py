"""Oracle of the selection: Python's stable sort."""


def smallest(keys, k, limit=2**32 - 1):
    """[(index, key), ...] of the k smallest of each row; keys above limit count as limit."""
    rows = [[min(int(key), limit) for key in row] for row in keys]
    return [[(index, row[index]) for index in sorted(range(len(row)), key=row.__getitem__)[:k]] for row in rows]


def smallest_listed(begins, sizes, entries, k):
    """[(index, key), ...] of the k smallest entries of each list, (-1, 2**32 - 1) after the last."""
    lists = [[divmod(int(one), 2**32)[::-1] for one in entries[b : b + n]] for b, n in zip(begins, sizes)]
    return [(sorted(own, key=lambda pair: pair[::-1]) + [(-1, 2**32 - 1)] * k)[:k] for own in lists]
