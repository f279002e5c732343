"""Ratings in two orders by plain loops. Imports nothing from gpukit."""


def by_item(triples):
    """Return numbers of (user, item, value) triples by item, then value, then in input order."""
    return sorted(range(len(triples)), key=lambda t: (triples[t][1], triples[t][2], t))


def by_user(triples):
    """Return numbers of triples by user, then item."""
    return sorted(range(len(triples)), key=lambda t: (triples[t][0], triples[t][1]))


def starts(rows, n_rows):
    """Return [n_rows + 1] starts of ascending rows."""
    return [sum(row < r for row in rows) for r in range(n_rows + 1)]
