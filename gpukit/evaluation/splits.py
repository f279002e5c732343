"""Random and temporal splits of a table, independent of threads."""

import numpy as np

from gpukit._pool import parallel_map
from gpukit.device.memory import empty

ALONE = 1 << 20  # numbers that a thread draws or copies at once


def random_mask(n, fraction, seed, start=0):
    """Return numpy.random.default_rng(seed).random(start + n)[start:] >= fraction, (n,) bool.

    Drawn on all threads.
    """
    out = np.empty(n, np.bool_)

    def draw(first):
        stream, part = np.random.PCG64(seed), out[first : first + ALONE]
        stream.advance(start + first)  # default_rng's generator; one step per number
        np.greater_equal(np.random.Generator(stream).random(len(part)), fraction, out=part)

    parallel_map(draw, range(0, n, ALONE))
    return out


def fold_numbers(n, folds, seed):
    """Return a random fold of each row, (n,) uint8.

    Fold sizes differ by at most one row; up to 255 folds.
    """
    numbers = np.resize(np.arange(folds, dtype=np.uint8), n)
    np.random.default_rng(seed).shuffle(numbers)
    return numbers


def ranks_in_time(times, groups=None):
    """Return (rank (n,) int64, size): number of earlier rows, and of all rows.

    groups: (n,) row numbers from 0 on; then both are within the group, size (n,) int64. Equal times keep input order.
    """
    n, ranks = len(times), np.empty(len(times), np.int64)
    if groups is None:
        ranks[np.argsort(times, kind="stable")] = np.arange(n)
        return ranks, n
    counts = np.bincount(groups)
    firsts = np.cumsum(counts) - counts
    order = np.lexsort((times, groups))
    ranks[order] = np.arange(n) - firsts[groups[order]]
    return ranks, counts[groups]


def mask_before_last(ranks, sizes, fraction):
    """Return a mask (n,) of rows before the last `fraction` of their group.

    The number is rounded; the first row of a group is always included. Arguments as from ranks_in_time.
    """
    last = np.minimum(np.floor(fraction * np.asarray(sizes) + 0.5), np.maximum(sizes, 1) - 1)
    return ranks < sizes - last


def mask_before_one(ranks, sizes):
    """Return a mask (n,) of rows before the last of their group.

    The first row of a group is always included.
    """
    return ranks < np.maximum(np.asarray(sizes) - 1, 1)


def rows_where(columns, mask):
    """Return {name: array[mask]} of {name: (n,) array} and a mask (n,) bool, on all threads."""
    firsts = range(0, max(1, len(mask)), ALONE)
    stops = [*firsts[1:], None]  # not len(mask): a column of another length fails
    pieces = [slice(first, stop) for first, stop in zip(firsts, stops)]
    ends = np.cumsum([0, *parallel_map(lambda piece: np.count_nonzero(mask[piece]), pieces)])
    out = {name: empty(ends[-1], column.dtype) for name, column in columns.items()}

    def move(number):
        piece, part = pieces[number], slice(ends[number], ends[number + 1])
        for name, column in columns.items():
            out[name][part] = column[piece][mask[piece]]

    parallel_map(move, range(len(pieces)))
    return out


def part_columns(columns, mask):
    """Return ({name: array[mask]}, {name: array[~mask]}) of {name: (n,) array} and a mask (n,) bool, in one pass each.

    Raises IndexError for a mask of another length.
    """
    from gpukit.evaluation.ratings import move_rows

    pieces = range(0, len(mask), ALONE)
    kept = parallel_map(lambda first: np.count_nonzero(mask[first : first + ALONE]), pieces)
    kept, parts = np.cumsum([0, *kept]), ({}, {})
    for name, column in columns.items():
        if column.shape != mask.shape:
            raise IndexError(f"a mask of {len(mask):,} rows cannot split the {len(column):,} of {name}.")
        sizes = kept[-1], len(mask) - kept[-1]
        for part, size in zip(parts, sizes):
            part[name] = empty(size, column.dtype)
        bits = f"u{column.itemsize}"  # one compiled function for whole numbers and others
        move_rows(column.view(bits), mask, ALONE, kept[:-1], *(part[name].view(bits) for part in parts))
    return parts
