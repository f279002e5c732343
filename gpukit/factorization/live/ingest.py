"""Ratings as they arrive: in the rows of the grown model; on the device where their ids begin with the known ones."""

import numpy as np

from gpukit.factorization.update import inputs
from gpukit.io import trust
from gpukit.ratings import check
from gpukit.ratings.pairs import table_of
from gpukit.ratings.table import Ratings


def part_of(X, y, known, finders, own):
    """The inputs.NewRatings of what fit takes (X, y), its columns on the host or on the device; known: (user ids,
    item ids); finders: as inputs.in_rows has them; own: the live model's steps. Raises DataError, ParameterError."""
    if y is None and isinstance(X, Ratings) and X.weights is None and len(X):
        part = as_it_is(X, known, own)
        if part is not None:
            return part
    return inputs.in_rows(inputs.unweighted(table_of(X, y)), *known, finders)


def as_it_is(ratings, known, own):
    """The NewRatings of Ratings whose ids begin with the known ones. Its columns lie on the device, which sees
    whether rows are in range and which new ones occur: a look at each on the host took longer than sending them
    there. None for any other, and for what is wrong with them, that the usual way may say so."""
    ids = ratings.user_ids, ratings.item_ids
    sound = ratings._state >= check.SOUND
    if not sound and (check.misshapen(ratings) or not all(isinstance(one, np.ndarray) for one in ids)):
        return None
    if not all(map(inputs.begins_with, ids, known)) or not (sound or all(map(unique_behind, ids, known))):
        return None
    rows = [own.resident(side, np.int32) for side in (ratings.users, ratings.items)]
    seen = occurring(rows, ids, known, own)
    if seen is None:
        return None
    (users, user_ids), (items, item_ids) = (without_others(*side, own) for side in zip(rows, ids, known, seen))
    return inputs.NewRatings(users, items, own.resident(ratings.values, np.float32), user_ids, item_ids)


def unique_behind(ids, known):
    """Whether no id comes twice in ids, of which the first are the known ones, that differ."""
    if ids.dtype.kind not in "iu" or not len(known):
        return trust.repeated(ids) is None
    behind = ids[len(known) - 1 :]
    rises = (behind[1:] > behind[:-1]).all() and known.max() == known[-1]
    return bool(rises) or trust.repeated(ids) is None


def occurring(rows, ids, known, own):
    """((new users,), (new items,)) bool: which of the ids behind the known ones occur in rows ((n,), (n,)) on the
    device; None where a row is out of range."""
    firsts = [len(before) for before in known]
    users, items = (1 + len(now) - first for now, first in zip(ids, firsts))
    seen = own.zeros(users + items, np.uint8)
    for side, first, mine in zip(rows, firsts, (seen[:users], seen[users:])):
        own.run("mark_new", side, first, mine)
    flags = own.fetch(seen) != 0
    return None if flags[0] or flags[users] else (flags[1:users], flags[users + 1 :])


def without_others(rows, ids, known, seen, own):
    """(rows (n,) int32 on the device, ids) without those behind the known ones that are not seen."""
    if seen.all():
        return rows, ids
    first, renamed = len(known), own.empty(rows.size, np.int32)
    own.run("rename_new", rows, first, own.resident(first - 1 + np.cumsum(seen), np.int32), renamed)
    return renamed, np.concatenate((ids[:first], ids[first:][seen]))
