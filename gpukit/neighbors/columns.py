"""Ratings by item, each column sorted by rating level: the form that the hashing and the factorization read.

Ratings take few distinct values: a column sorted by level is a handful of runs of equal weight, one byte a rating.
"""

import os
from typing import NamedTuple

import numpy as np

from gpukit._jit import njit, prange
from gpukit.errors import DataError

MAX_LEVELS = 254  # of the 256 that a byte tells apart; the factorization has two other uses for it
PARTS = 16  # the ratings are looked through in so many parts at once
TABLE = 2048  # slots of the value table, a power of two, several times MAX_LEVELS
SPREAD = np.uint32(0x9E3779B9)


class Columns(NamedTuple):
    """Ratings as compressed columns. Item j's ratings are the slice indptr[j]:indptr[j + 1] of the other arrays.

    indptr (N + 1,) int64; users (n,) int32 row numbers; levels (n,) uint8 into values, rising within a column; within
    one level of a column the ratings keep the order of the input. values (L,) float32: the distinct ratings, ascending,
    L <= 254.
    """

    indptr: np.ndarray
    users: np.ndarray
    levels: np.ndarray
    values: np.ndarray


def columns(ratings, places=False):
    """The Columns of a gpukit.ratings.Ratings (or anything with users, items, values and shape).

    With more than 254 distinct values each rating goes to the nearest of 254 evenly spaced levels. With places=True the
    answer is (Columns, place (n,) int64): rating number place[t] of the input stands at position t. Linear in the
    ratings: two counting passes, shared by the threads. Raises DataError without ratings or with a rating that is not
    finite.
    """
    if len(ratings.values) == 0:
        raise DataError("There are no ratings: 0 rows. Give at least one user, item, rating triple.")
    items = np.ascontiguousarray(ratings.items, dtype=np.int32)
    codes, values = levels_of(np.ascontiguousarray(ratings.values, dtype=np.float32))
    indptr, place = by_item(items, ratings.shape[1], threads())
    sort_levels(indptr, codes, len(values), place)
    users = gather(np.ascontiguousarray(ratings.users, dtype=np.int32), place)
    made = Columns(indptr, users, gather(codes, place), values)
    return (made, place) if places else made


def threads():
    """How many parts the counting is cut into."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def levels_of(values):
    """(codes (n,) uint8, values (L,) float32 ascending): each rating's level; see `columns`."""
    table = np.full(TABLE, np.nan, np.float32)
    codes, found = _first_seen_codes(values, table)
    if found == -1:
        bad = values[~np.isfinite(values)][0]
        raise DataError(f"A rating is {bad}: ratings must be finite numbers. Remove or replace such rows.")
    if found <= MAX_LEVELS:
        used = np.flatnonzero(~np.isnan(table))
        order = np.argsort(table[used], kind="stable")
        rank = np.zeros(TABLE, np.uint8)
        rank[used[order]] = np.arange(len(used), dtype=np.uint8)
        return gather(rank, codes), table[used[order]]
    low, high = float(values.min()), float(values.max())
    if not np.isfinite([low, high]).all():
        raise DataError("A rating is not a finite number: ratings must be finite. Remove or replace such rows.")
    grid = np.linspace(low, high, MAX_LEVELS)
    codes = np.rint((values - np.float64(low)) * ((MAX_LEVELS - 1) / (high - low))).astype(np.uint8)
    return codes, grid.astype(np.float32)


def _first_seen_codes(values, table):
    """Each value's slot in an open-addressing table of floats (NaN: free); (slots (n,) uint16, how many values).

    How many is above MAX_LEVELS when there are more than that, -1 when a value is not finite; slots are None then.
    """
    tables = np.full((PARTS, TABLE), np.nan, np.float32)
    found = _enter_parts(values, tables)
    if found.min() < 0 or found.max() > MAX_LEVELS:
        return None, found.min() if found.min() < 0 else found.max()
    count = _enter(tables[~np.isnan(tables)], table)
    return _slots_of(values, table) if count <= MAX_LEVELS else None, count


@njit(parallel=True)
def _enter_parts(values, tables):
    """`_enter` of each of PARTS parts of the values into a table of its own."""
    found = np.zeros(PARTS, np.int64)
    for part in prange(PARTS):
        found[part] = _enter(values[values.size * part // PARTS : values.size * (part + 1) // PARTS], tables[part])
    return found


@njit(parallel=True)
def _slots_of(values, table):
    """(n,) uint16 places of values that are all in the table."""
    slots = np.empty(values.size, np.uint16)
    for t in prange(values.size):
        slots[t] = _slot(values[t], table)
    return slots


@njit
def _slot(value, table):
    """Where the value stands in the table, or the free place where it would."""
    slot = np.uint32(np.uint32(np.int64(value * np.float32(64.0)) & 0xFFFFFFFF) * SPREAD) >> np.uint32(21)
    while table[slot] != value and not np.isnan(table[slot]):
        slot = np.uint32((slot + 1) % TABLE)
    return slot


@njit
def _enter(values, table):
    """Enter the values into an empty table; how many differ, at most MAX_LEVELS + 1, or -1 where one is not finite."""
    count = 0
    for value in values:
        if not np.isfinite(value):
            return -1
        slot = _slot(value, table)
        if np.isnan(table[slot]):
            table[slot] = value
            count += 1
            if count > MAX_LEVELS:
                return count
    return count


@njit(parallel=True)
def by_item(items, n_items, parts):
    """(indptr (N + 1,) int64, place (n,) int64): the input positions sorted by item, equal items in input order."""
    size = items.size
    counts = np.zeros((parts, n_items), np.int64)
    for part in prange(parts):
        for t in range(size * part // parts, size * (part + 1) // parts):
            counts[part, items[t]] += 1
    indptr = np.zeros(n_items + 1, np.int64)
    position = 0
    for item in range(n_items):
        for part in range(parts):
            here = counts[part, item]
            counts[part, item] = position
            position += here
        indptr[item + 1] = position
    place = np.empty(size, np.int64)
    for part in prange(parts):
        for t in range(size * part // parts, size * (part + 1) // parts):
            place[counts[part, items[t]]] = t
            counts[part, items[t]] += 1
    return indptr, place


@njit(parallel=True)
def sort_levels(indptr, codes, n_levels, place):
    """Sort place within each column by codes[place] (a stable counting sort), in place."""
    for item in prange(indptr.size - 1):
        begin, end = indptr[item], indptr[item + 1]
        start = np.zeros(n_levels + 1, np.int64)
        for t in range(begin, end):
            start[codes[place[t]] + 1] += 1
        for level in range(n_levels):
            start[level + 1] += start[level]
        column = place[begin:end].copy()
        for t in range(column.size):
            level = codes[column[t]]
            place[begin + start[level]] = column[t]
            start[level] += 1


@njit(parallel=True)
def gather(source, places):
    """source[places], by all threads."""
    out = np.empty(places.size, source.dtype)
    for t in prange(places.size):
        out[t] = source[places[t]]
    return out
