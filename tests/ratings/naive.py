"""Plain loops over lines: the expected results of readers. Imports nothing from gpukit."""

import math


def triples(text, sep=",", places=(0, 1, 2), header=False):
    """Return [(user text, item text, rating)] of the lines of a table."""
    lines = [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()][header:]
    words = [[word.strip() for word in line.split(sep)] for line in lines]
    return [(w[places[0]], w[places[1]], float(w[places[2]])) for w in words]


def merged(rows, rule):
    """Return rows [(user, item, number)] with distinct pairs, at their first place; rule 'last', 'mean' or 'sum'."""
    seen = {}
    for user, item, rating in rows:
        seen.setdefault((user, item), []).append(rating)
    ways = {"last": lambda values: values[-1], "mean": lambda values: math.fsum(values) / len(values), "sum": math.fsum}
    return [(*pair, ways[rule](values)) for pair, values in seen.items()]


def netflix(text):
    """Return [(customer, movie, rating)] of lines `MovieID:` and `CustomerID,Rating,date`."""
    movie, rows = None, []
    for line in text.split():
        if line.endswith(":"):
            movie = line[:-1]
        else:
            customer, rating, _ = line.split(",")
            rows.append((customer, movie, float(rating)))
    return rows
