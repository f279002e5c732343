"""Who trains and who judges: parts of a table, drawn at random or cut by time; the same whatever the threads."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from gpukit.scheduler import by_block

ALONE = 1 << 20  # numbers that one thread draws sooner than several are started
PARTS = 64  # in which rows are told apart at once


def drawn(n, fraction, seed):
    """(n,) bool: numpy.random.default_rng(seed).random(n) >= fraction, drawn by all threads."""
    out = np.empty(n, np.bool_)
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cuts = [n * part // threads for part in range(threads + 1)] if n > ALONE else [0, n]

    def draw(first, last):
        stream = np.random.PCG64(seed)  # what default_rng takes; one step a number
        stream.advance(first)
        generator = np.random.Generator(stream)
        for begin in range(first, last, ALONE):
            end = min(begin + ALONE, last)
            np.greater_equal(generator.random(end - begin), fraction, out=out[begin:end])

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(draw, cuts, cuts[1:]))
    return out


def fold_numbers(n, folds, seed):
    """(n,) uint8: the fold of each row, at random; sizes of folds differ by one row at most; up to 255 folds."""
    numbers = np.resize(np.arange(folds, dtype=np.uint8), n)
    np.random.default_rng(seed).shuffle(numbers)
    return numbers


def ranks_in_time(times, groups=None):
    """(rank (n,) int64, size): how many rows are earlier than each, and how many there are; with groups (n,) of row
    numbers from 0 on, both within its group, size (n,) int64. Equal times count in the order in which they stand."""
    n, ranks = len(times), np.empty(len(times), np.int64)
    if groups is None:
        ranks[np.argsort(times, kind="stable")] = np.arange(n)
        return ranks, n
    counts = np.bincount(groups)
    firsts = np.cumsum(counts) - counts
    order = np.lexsort((times, groups))
    ranks[order] = np.arange(n) - firsts[groups[order]]
    return ranks, counts[groups]


def before_last(ranks, sizes, fraction):
    """(n,) bool: whether a row is before the last `fraction` of its group, rounded; the first of a group always is.
    Arguments as ranks_in_time gives them."""
    last = np.minimum(np.floor(fraction * np.asarray(sizes) + 0.5), np.maximum(sizes, 1) - 1)
    return ranks < sizes - last


def before_one(ranks, sizes):
    """(n,) bool: whether a row is before the last one of its group; the first of a group always counts as that."""
    return ranks < np.maximum(np.asarray(sizes) - 1, 1)


def parted(columns, kept):
    """({name: rows kept}, {name: the others}) of {name: (n,) array}, in their order; kept (n,) bool."""
    counts = np.empty(PARTS, np.int64)
    _count(kept, counts)
    ends = np.cumsum(counts)
    sizes = int(ends[-1]), len(kept) - int(ends[-1])
    both = {}, {}
    for name, column in columns.items():
        inside, outside = (np.empty(size, column.dtype) for size in sizes)
        _part(column, kept, ends - counts, inside, outside)
        both[0][name], both[1][name] = inside, outside
    return both


@by_block(lambda counts: counts.size, heavy=True)
def _count(start, stop, kept, counts):
    """counts (PARTS,) int64: how many rows of each part are kept."""
    for part in range(start, stop):
        counts[part] = 0
        for t in range(kept.size * part // PARTS, kept.size * (part + 1) // PARTS):
            counts[part] += kept[t]


@by_block(lambda starts: starts.size, heavy=True)
def _part(start, stop, column, kept, starts, inside, outside):
    """inside, outside = column[kept], column[~kept]; starts (PARTS,): rows kept before each part."""
    for part in range(start, stop):
        first = kept.size * part // PARTS
        yes, no = starts[part], first - starts[part]
        for t in range(first, kept.size * (part + 1) // PARTS):
            if kept[t]:
                inside[yes] = column[t]
                yes += 1
            else:
                outside[no] = column[t]
                no += 1
