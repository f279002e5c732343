"""Ratings in two orders by plain loops. Imports nothing of gpukit."""


def by_item(triples):
    """Numbers of (user, item, value) triples by item, then value, then as they came."""
    return sorted(range(len(triples)), key=lambda t: (triples[t][1], triples[t][2], t))


def by_user(triples):
    """Numbers of triples by user, then item."""
    return sorted(range(len(triples)), key=lambda t: (triples[t][0], triples[t][1]))


def starts(rows, n_rows):
    """[n_rows + 1] beginnings of rows that ascend."""
    return [sum(row < r for row in rows) for r in range(n_rows + 1)]
