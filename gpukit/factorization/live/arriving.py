"""Ratings as they arrive: in the rows of the grown model, and on the device where nothing has to be renamed."""

import numpy as np

from gpukit.factorization.update import inputs
from gpukit.io import trust
from gpukit.ratings import check
from gpukit.ratings.pairs import ratings_of
from gpukit.ratings.table import Ratings


def part_of(X, y, known, finders, own):
    """The inputs.Part of what fit takes (X, y), its columns on the host or on the device; known: (user ids, item ids);
    finders: as inputs.in_rows has them; own: the live model's steps. Raises DataError, ParameterError."""
    if y is None and isinstance(X, Ratings) and X.weights is None and len(X):
        part = as_it_is(X, known, own)
        if part is not None:
            return part
    return inputs.in_rows(inputs.unweighted(ratings_of(X, y, repeats=False)), *known, finders)


def as_it_is(ratings, known, own):
    """The Part of Ratings whose ids begin with the known ones, and all occur: nothing to rename. Its columns lie on the
    device, which sees whether rows are in range: a look at each on the host took longer than sending them there. None
    for any other, and for what is wrong with them, that the usual way may say so."""
    ids = ratings.user_ids, ratings.item_ids
    sound = ratings._state >= check.SOUND
    if not sound and (check.misshapen(ratings) or not all(isinstance(one, np.ndarray) for one in ids)):
        return None
    if not all(map(inputs.begins_with, ids, known)) or not (sound or all(map(unique_behind, ids, known))):
        return None
    counts = [(len(before), len(now) - len(before)) for before, now in zip(known, ids)]
    rows = tuple(own.resident(side, np.int32) for side in (ratings.users, ratings.items))
    if not all_occur(rows, counts, own):
        return None
    return inputs.Part(*rows, own.resident(ratings.values, np.float32), *ids)


def unique_behind(ids, known):
    """Whether no id comes twice in ids, of which the first are the known ones, that differ."""
    if ids.dtype.kind not in "iu" or not len(known):
        return trust.repeated(ids) is None
    behind = ids[len(known) - 1 :]
    rises = (behind[1:] > behind[:-1]).all() and known.max() == known[-1]
    return bool(rises) or trust.repeated(ids) is None


def all_occur(rows, counts, own):
    """Whether rows ((n,), (n,)) of users and items on the device are all in range, and each of the new ones occurs;
    counts: for either side, how many are known and how many new."""
    (_, users), (_, items) = counts
    seen = own.zeros(2 + users + items, np.uint8)
    sides = seen[: 1 + users], seen[1 + users :]
    for side, (before, _), own_seen in zip(rows, counts, sides):
        own.run("mark_new", side, before, own_seen)
    flags = own.fetch(seen)
    return not flags[0] and not flags[1 + users] and np.count_nonzero(flags) == users + items
