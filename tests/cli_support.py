"""Small planted ratings as files, and options with which commands train in a moment, on the CPU."""

import numpy as np

SMALL = ("--device", "cpu", "--factors", 4, "--neighbors", 5, "--epochs", 3, "--lsh-q", 8)
CPU = ("--device", "cpu")


def planted(users=60, items=40, share=0.4, seed=0):
    """(n,) user numbers, item numbers and ratings 1..5 of rank one, so that any sound model beats the global mean."""
    random = np.random.default_rng(seed)
    rows, columns = np.nonzero(random.random((users, items)) < share)
    likes, quality = random.normal(size=users), random.normal(size=items)
    return rows, columns, np.clip(np.round(3 + likes[rows] * quality[columns]), 1, 5).astype(int)


def write_rows(path, rows):
    """A headless csv of the rows."""
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    return path
