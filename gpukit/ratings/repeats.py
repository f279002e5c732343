"""Find, reject or merge repeated (user, item) pairs."""

from typing import Literal, NamedTuple, get_args

import numpy as np

from gpukit._pool import parallel_map
from gpukit.errors import DataError, ParameterError
from gpukit.io.times import MISSING
from gpukit.ratings.check import are_clicks, validate_ratings
from gpukit.ratings.table import DISTINCT, as_counts, set_state

Rule = Literal["last", "mean", "error"]
RULES = get_args(Rule)
PIECE, SAMPLES = 1 << 20, 64  # keys that a thread sorts at once, and how many of them estimate the quantiles


def validate(ratings, repeats=True):
    """Return validated ratings without repeated pairs.

    Of ratings with times the later one is kept, and counts of clicks are summed. Raises DataError for an invalid table,
    and for repeated pairs without times. repeats=False: do not check repeated pairs.
    """
    if not repeats:
        return validate_ratings(ratings)
    is_merged = are_clicks(validate_ratings(ratings)) or ratings.times is not None
    return without_repeats(ratings, "last" if is_merged else "error")


def merged_line(ratings, rule):
    """Return a message on merged Ratings, without its end.

    ratings: with their times, if they were read; rule: one of RULES, or 'clicks'.
    """
    n_merged, left = ratings.merged, len(ratings)
    unknown = 0 if ratings.times is None else np.count_nonzero(ratings.times == MISSING)
    what = "clicks" if rule == "clicks" else "ratings"
    how = {
        "last": "the later one counts by its time, without times the last one",
        "mean": "their mean counts",
        "clicks": "their counts are added up",
    }[rule]
    line = f"{n_merged:,} of {n_merged + left:,} {what} repeat a pair and were merged ({how}); {left:,} are left"
    if unknown and rule == "last":
        line += f". Of these, {unknown:,} have a time that is not known: write it as 2005-09-06 18:00"
    return line


def without_repeats(ratings, rule, order=None):
    """Return ratings with each (user, item) pair once, at its first position.

    rule 'last': keep the pair's latest rating by times, or the last in input order if times are equal or missing, with
    its other columns. 'mean': mean rating (in float64), mean weight, sum of counts, latest time. 'error': DataError
    with the first repeated pair. Counts of clicks (all values equal) are summed for any rule but 'error', and created
    if missing. order (n,): compared in place of the times, which are whole seconds. Returns the same object if no pair
    is repeated; otherwise `merged` of the result is the number of removed ratings.
    """
    if rule not in RULES:
        raise ParameterError(f"duplicates must be one of {', '.join(RULES)}; got {rule!r}.")
    validate_ratings(ratings)
    if ratings._state == DISTINCT:
        return ratings
    if not _has_repeats(ratings):
        return set_state(ratings, DISTINCT)
    from gpukit.ratings.orders.compressed import pack_pairs, sort_pairs

    keys, _ = pack_pairs(ratings.users, ratings.items, ratings.shape)
    keys, places = sort_pairs(keys, ratings.shape, np.arange(len(ratings), dtype=np.uint32))
    is_repeat = np.append(False, keys[1:] == keys[:-1])
    if rule == "error":
        repeated = int(places[is_repeat].min())
        user, item = ratings.user_ids[ratings.users[repeated]], ratings.item_ids[ratings.items[repeated]]
        raise DataError(
            f"User {user} has rated item {item} already when it comes again as rating {repeated + 1:,}. "
            "Leave one of them out, give their times, or choose where there is such an argument: duplicates='last' "
            "(--duplicates last) or 'mean'."
        )
    groups = _groups_of(places, is_repeat)
    columns = _merge_groups(ratings, groups, rule, groups.latest(ratings.times if order is None else order))
    return set_state(ratings.with_columns(**columns), DISTINCT, len(ratings) - len(columns["users"]))


class _Groups(NamedTuple):
    """Repeated pairs: their positions, group by group in input order.

    places (m,); starts, sizes (groups,): first entry of each group in places, and its number of entries.
    """

    places: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray

    def latest(self, times):
        """Return the position of each group's latest entry: the last one without times or if one is MISSING."""
        ends = self.starts + self.sizes - 1
        if times is None:
            return self.places[ends]
        times = times[self.places]
        is_latest = times == np.maximum.reduceat(times, self.starts).repeat(self.sizes)
        latest = np.maximum.reduceat(np.where(is_latest, np.arange(len(times)), 0), self.starts)
        is_timed = np.minimum.reduceat(times, self.starts) > MISSING
        return self.places[np.where(is_timed, latest, ends)]

    def totals(self, column):
        """Return the float64 sum of each group's entries of a column."""
        return np.bincount(np.arange(len(self.starts)).repeat(self.sizes), weights=column[self.places])


def _groups_of(places, is_repeat):
    """Return the _Groups of sorted pairs' positions; is_repeat (n,): the pair equals the one before."""
    in_group = is_repeat | np.append(is_repeat[1:], False)
    starts = np.flatnonzero(~is_repeat[in_group])
    places = places[in_group].astype(np.int64)
    return _Groups(places, starts, np.diff(starts, append=len(places)))


def _merge_groups(ratings, groups, rule, latest):
    """Return the columns of ratings, with each of the groups merged into its first entry.

    latest (groups,): position of each group's latest entry.
    """
    keep, first = np.ones(len(ratings), np.bool_), groups.places[groups.starts]
    keep[groups.places] = False
    keep[first] = True
    rows = np.searchsorted(np.flatnonzero(keep), first)
    columns, counts_of_clicks = ratings.columns(), are_clicks(ratings)
    if counts_of_clicks:
        columns.setdefault("counts", np.ones(len(ratings), np.int32))
    out = {name: column[keep] for name, column in columns.items()}
    for name in columns.keys() - {"users", "items"}:
        if name == "counts" and (counts_of_clicks or rule == "mean"):
            out[name] = _insert_totals(out[name], rows, groups.totals(columns[name]))
        elif name != "times" and rule == "mean":
            out[name][rows] = groups.totals(columns[name]) / groups.sizes
        else:
            out[name][rows] = columns[name][latest]
    return out


def _insert_totals(counts, rows, totals):
    """Return counts (n,) with totals at some rows; DataError beyond float32."""
    if totals.max() > np.finfo(np.float32).max:
        raise DataError(f"A pair's counts add up to {totals.max():g}, more than a count may be. Give smaller ones.")
    sums = counts.astype(np.float64)
    sums[rows] = totals
    return sums.astype(np.float32) if counts.dtype == np.float32 else as_counts(sums)


def _has_repeats(ratings):
    """Return True if a pair of valid Ratings occurs twice.

    numpy sorts pieces of the pairs, then ranges of pairs from all pieces; nothing is compiled for it.
    """
    width = np.uint64((max(1, ratings.shape[1]) - 1).bit_length())

    def sort_piece(first):
        rows = slice(first, first + PIECE)
        keys = ratings.users[rows].astype(np.uint64) << width | ratings.items[rows].astype(np.uint64)
        keys.sort()
        return keys

    pieces = parallel_map(sort_piece, range(0, max(1, len(ratings)), PIECE))
    samples = np.sort(np.concatenate([keys[:: PIECE // SAMPLES] for keys in pieces]))
    ends = [np.append(np.searchsorted(keys, samples[SAMPLES::SAMPLES]), len(keys)) for keys in pieces]

    def is_repeated(number):
        starts = [int(end[number - 1]) if number else 0 for end in ends]
        keys = np.concatenate([keys[start : end[number]] for keys, start, end in zip(pieces, starts, ends)])
        keys.sort()
        return (keys[1:] == keys[:-1]).any()

    return any(parallel_map(is_repeated, range(len(ends[0]))))
