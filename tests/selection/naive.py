"""Oracle of the selection: Python's stable sort."""


def smallest(keys, k, limit=2**32 - 1):
    """[(index, key), ...] of the k smallest of each row; keys above limit count as limit."""
    rows = [[min(int(key), limit) for key in row] for row in keys]
    return [[(index, row[index]) for index in sorted(range(len(row)), key=row.__getitem__)[:k]] for row in rows]
