"""Passes over ratings: errors of a mean and of biases, users and items that have ratings, splits by a mask."""

import numpy as np

from gpukit._pool import MOST
from gpukit.scheduler import by_block


def bias_errors(ratings, biases, mean, scale):
    """Return [{'rmse', 'mae'}] of the mean, and of the mean with biases, on ratings.

    ratings: Ratings, at least one; biases: (users (M,), items (N,)) float64 of their rows; mean: pair, the first one
    alone, the second one with biases; scale: (lowest, highest) prediction with biases.
    """
    sums, numbers = np.empty((4 * MOST, 4)), np.array([*mean, *scale], np.float64)  # for any number of threads
    _sum_parts(ratings.users, ratings.items, ratings.values, *biases, numbers, sums)
    squares, sizes = (sums.sum(axis=0) / len(ratings)).reshape(2, 2).T
    return [{"rmse": float(square**0.5), "mae": float(size)} for square, size in zip(squares, sizes)]


@by_block(lambda sums: len(sums), heavy=True, fastmath=False)
def _sum_parts(start, stop, users, items, values, of_users, of_items, numbers, sums):
    alone, mean, low, high = numbers
    for part in range(start, stop):
        mean_square = mean_size = square = size = 0.0
        first, last = users.size * part // len(sums), users.size * (part + 1) // len(sums)
        for t in range(first, last):
            value = np.float64(values[t])
            error = value - alone
            mean_square += error * error
            mean_size += abs(error)
            error = value - min(max(mean + of_users[users[t]] + of_items[items[t]], low), high)
            square += error * error
            size += abs(error)
        sums[part, 0], sums[part, 1], sums[part, 2], sums[part, 3] = mean_square, mean_size, square, size


def rated_rows(rows, count):
    """Return a mask (count,) uint8 of the users, or items, that occur in rows (n,)."""
    rated = np.zeros(count, np.uint8)
    _mark_rated(rows, rated)
    return rated


@by_block(lambda rows: rows.size)
def _mark_rated(start, stop, rows, rated):
    for k in range(stop - start):
        row = rows[start + k]
        if not rated[row]:  # writing again would take the memory from the other threads
            rated[row] = 1


@by_block(lambda before: before.size, heavy=True)
def move_rows(start, stop, column, mask, size, before, kept, others):
    """Write the rows of column (n,) that a mask (n,) bool keeps, and the others, in order.

    before: number of kept rows before each piece of `size` rows.
    """
    for piece in range(start, stop):
        first, to = piece * size, before[piece]
        to_others = first - to
        for t in range(first, min(first + size, column.size)):
            if mask[t]:
                kept[to] = column[t]
                to += 1
            else:
                others[to_others] = column[t]
                to_others += 1
