"""Inputs of both searches: stripes of query rows in the middle, at the end, alone."""

STRIPES = [(0, 2, 2), (0, 9, 9), (5, 3, 33), (62, 8, 70), (66, 1, 67)]  # first query row, query rows, items
