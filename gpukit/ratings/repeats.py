"""Find, reject or merge repeated (user, item) pairs in O(n) by radix sort."""

from typing import Literal, get_args

import numpy as np

from gpukit._jit import njit
from gpukit._pool import shared_out
from gpukit.errors import DataError, ParameterError
from gpukit.io.times import MISSING
from gpukit.primitives.group.cpu import row_starts, sort_by_bits
from gpukit.ratings.check import sound
from gpukit.ratings.clicks import are_clicks
from gpukit.ratings.orders.compressed import packed_pairs, sorted_pairs
from gpukit.ratings.table import DISTINCT, as_counts, marked

Rule = Literal["last", "mean", "error"]
RULES = get_args(Rule)
LAST, MEAN, SUM = range(3)  # merge rules of a column
PART, PART_BITS = 1 << 16, 8  # keys per part, to fit the cache; bits of the part number
MERGED = {"values": MEAN, "weights": MEAN, "counts": SUM, "times": LAST}  # for rule 'mean'


def checked(ratings, repeats=True):
    """Return validated ratings without repeated pairs.

    Of ratings with times the later one is kept, and counts of clicks are summed. Raises DataError for an invalid table,
    and for repeated pairs without times. repeats=False: do not check repeated pairs.
    """
    if not repeats:
        return sound(ratings)
    is_merged = are_clicks(sound(ratings)) or ratings.times is not None
    return without_repeats(ratings, "last" if is_merged else "error")


def merged_line(merged, left, rule):
    """Return a message on merged ratings, without its end.

    rule: one of RULES, or 'clicks'.
    """
    what = "clicks" if rule == "clicks" else "ratings"
    how = {
        "last": "the later one counts by its time, without times the last one",
        "mean": "their mean counts",
        "clicks": "their counts are added up",
    }[rule]
    return f"{merged:,} of {merged + left:,} {what} repeat a pair and were merged ({how}); {left:,} are left"


def without_repeats(ratings, rule, in_place=False):
    """Return ratings with each (user, item) pair once, at its first position.

    rule 'last': keep the pair's latest rating by times, or the last in input order if times are equal or missing, with
    its other columns. 'mean': mean rating (in float64), mean weight, sum of counts, latest time. 'error': DataError
    with the first repeated pair. Counts of clicks (all values equal) are summed for any rule but 'error', and created
    if missing. Returns the same object if no pair is repeated; otherwise `merged` of the result is the number of
    removed ratings. in_place: the arrays may be overwritten.
    """
    if rule not in RULES:
        raise ParameterError(f"duplicates must be one of {', '.join(RULES)}; got {rule!r}.")
    sound(ratings)
    if ratings._state == DISTINCT:
        return ratings
    keys, shift = packed_pairs(ratings.users, ratings.items, ratings.shape)
    if _rise(keys) or not _has_repeats(keys, shift):  # many files are sorted
        return marked(ratings, DISTINCT)
    keys, places = sorted_pairs(keys, ratings.shape, np.arange(len(ratings), dtype=np.uint32))
    repeated = _first_repeat(keys, places)
    if repeated == len(ratings):
        return marked(ratings, DISTINCT)
    if rule == "error":
        user, item = ratings.user_ids[ratings.users[repeated]], ratings.item_ids[ratings.items[repeated]]
        raise DataError(
            f"User {user} has rated item {item} already when it comes again as rating {repeated + 1:,}. "
            "Leave one of them out, give their times, or choose where there is such an argument: duplicates='last' "
            "(--duplicates last) or 'mean'."
        )
    columns = {name: column if in_place else column.copy() for name, column in ratings.columns().items()}
    ways = dict.fromkeys(columns, LAST) if rule == "last" else dict(MERGED)
    if are_clicks(ratings):
        columns.setdefault("counts", np.ones(len(ratings), np.int32))
        ways["counts"] = SUM
    if ways.get("counts") == SUM and "counts" in columns:
        columns["counts"] = roomy(columns["counts"])
    keep = np.ones(len(ratings), dtype=np.bool_)
    times = columns.get("times", np.empty(0, np.int64))
    for name in MERGED:  # times last: the other columns are merged by them
        if name in columns:
            _merge(keys, places, ways[name], columns[name], keep, times)
    count = np.count_nonzero(keep)
    for column in columns.values():
        _close_up(keep, column)
    columns = {name: column[:count] for name, column in columns.items()}
    if "counts" in columns:
        columns["counts"] = settled(columns["counts"])
    return marked(ratings.with_columns(**columns), DISTINCT, len(ratings) - count)


def roomy(counts):
    """Return counts (n,) in a dtype that holds their sum."""
    limit = np.iinfo(np.int32).max if counts.dtype == np.int32 else np.finfo(np.float32).max
    return counts if counts.sum(dtype=np.float64) <= limit else counts.astype(np.float64)


def settled(counts):
    """Return sums of counts (n,) in a table's dtype; DataError beyond float32."""
    if counts.dtype != np.float64:
        return counts
    if counts.max(initial=0) > np.finfo(np.float32).max:
        raise DataError(f"A pair's counts add up to {counts.max():g}, more than a count may be. Give smaller ones.")
    return as_counts(counts)


def _has_repeats(keys, shift):
    """Return True if a key of packed_pairs occurs twice.

    Keys are sorted in parts that agree in the lowest bits of the user and the highest of the item. A single user or
    item thus also gives many parts.
    """
    bits = min(PART_BITS, (len(keys) // PART).bit_length())
    first = max(0, shift - bits // 2)
    parted, _, _ = sort_by_bits(keys, first, first + bits)
    starts = row_starts(parted, first, bits, 1 << bits)

    def is_repeated(part):
        own = np.sort(parted[starts[part] : starts[part + 1]])
        return (own[1:] == own[:-1]).any()

    return any(shared_out(is_repeated, range(1 << bits)))


@njit
def _close_up(keep, column):
    """Move the kept entries to the front of the column."""
    count = 0
    for at in range(len(keep)):
        if keep[at]:
            column[count] = column[at]
            count += 1


@njit
def _rise(keys):
    """Return True if keys are strictly ascending."""
    for t in range(1, keys.size):
        if keys[t] <= keys[t - 1]:
            return False
    return True


@njit
def _first_repeat(keys, places):
    """Return the first repeated pair's position, else the pair count.

    Positions of equal keys ascend.
    """
    found = np.int64(keys.size)
    for t in range(1, keys.size):
        if keys[t] == keys[t - 1]:
            found = min(found, np.int64(places[t]))
    return found


@njit
def _merge(keys, places, how, column, keep, times):
    """Clear keep (n,) at repeats and merge each pair into its first position.

    how: LAST, MEAN or SUM of the pair's entries in column (n,). Without times (0,), or if one of the pair's is MISSING,
    the latest entry is the last one.
    """
    first, count, total, latest = np.int64(0), 0, 0.0, np.int64(0)
    for t in range(keys.size):
        at = np.int64(places[t])
        if t == 0 or keys[t] != keys[t - 1]:
            first, count, total = at, 1, np.float64(column[at])
            latest = times[at] if times.size else latest
            continue
        count, total = count + 1, total + column[at]
        keep[at] = False
        if how == LAST:
            if times.size == 0 or latest == MISSING or times[at] == MISSING or times[at] >= latest:
                column[first] = column[at]
                if times.size and latest != MISSING:
                    latest = times[at]
        else:
            column[first] = total / count if how == MEAN else total
