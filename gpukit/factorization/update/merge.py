"""The history of a model with new ratings in it, as Ratings; on the host."""

from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.ratings.table import DISTINCT, Ratings, marked

PLACES = 4  # decimals of the ratings that are restored exactly, beside multiples of 1 / BINARY
BINARY = 256


class Merged(NamedTuple):
    """ratings: the whole history in order of (user, item), each pair once; new (n,) bool: which of them came now, or
    were corrected; corrected: how many were."""

    ratings: object
    new: np.ndarray
    corrected: int


def values_of(levels, scale):
    """(256,) float32: the ratings that the levels of a History stand for, exactly as they were read where they have up
    to four decimals, or eight binary ones."""
    units = levels.astype(np.float64) * scale.deviation + scale.mean
    values = units.astype(np.float32)
    for plain in (np.round(units, PLACES), np.round(units * BINARY) / BINARY):
        plain = plain.astype(np.float32)
        same = (plain - np.float32(scale.mean)) / np.float32(scale.deviation) == levels
        values = np.where(same, plain, values)
    return values


def merged(history, scale, part, duplicates):
    """The Merged of a model's History (on the host) and an inputs.Part.

    A pair that is there already is corrected by rule `duplicates`: 'last' takes the new rating, 'mean' the mean of
    both, 'error' raises DataError.
    """
    keys, values = pairs_of(history), values_of(history.levels, scale)[history.codes]
    fresh = pair_keys(part.users, part.items)
    order = np.argsort(fresh, kind="stable")
    fresh, coming = fresh[order], part.values[order]
    at = np.searchsorted(keys, fresh)
    known = at < len(keys)
    known[known] = keys[at[known]] == fresh[known]
    if known.any():
        correct(values, at[known], coming[known], part, fresh[known], duplicates)
    place = at[~known] + np.arange(np.count_nonzero(~known))
    is_new = np.zeros(len(keys) + len(place), bool)
    is_new[place] = True
    keys, values = (joined(old, own[~known], is_new) for old, own in ((keys, fresh), (values, coming)))
    corrected = np.searchsorted(keys, fresh[known])
    is_new[corrected] = True
    users, items = (keys >> 32).astype(np.int32), (keys & 0x7FFFFFFF).astype(np.int32)
    ratings = marked(Ratings(users, items, values, part.user_ids, part.item_ids), DISTINCT)
    return Merged(ratings, is_new, len(corrected))


def pair_keys(users, items):
    """(n,) int64: user | item, the user in the upper half."""
    return (users.astype(np.int64) << 32) | items


def pairs_of(history):
    """`pair_keys` of a History, rising."""
    users = np.repeat(np.arange(len(history.indptr) - 1, dtype=np.int32), np.diff(history.indptr))
    return pair_keys(users, history.items)


def joined(old, own, is_own):
    """The numbers of old and own in one array, own where is_own."""
    out = np.empty(len(is_own), old.dtype)
    out[is_own], out[~is_own] = own, old
    return out


def correct(values, at, coming, part, keys, duplicates):
    """values[at] = what the coming ratings make of them, by rule."""
    if duplicates == "error":
        user, item = part.user_ids[keys[0] >> 32], part.item_ids[keys[0] & 0x7FFFFFFF]
        raise DataError(
            f"User {user} has rated item {item} already, in what the model has learned from. Take the new rating with "
            "duplicates='last' (--duplicates last), or 'mean'."
        )
    values[at] = coming if duplicates == "last" else (values[at] + coming) / np.float32(2)


def counts_of(ratings):
    """(ratings of each user (M,), of each item (N,)) int64."""
    return tuple(np.bincount(rows, minlength=n) for rows, n in zip((ratings.users, ratings.items), ratings.shape))
