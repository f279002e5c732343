"""Ratings in the form that an epoch reads: grouped by the side that is walked, centred and scaled, rows in random
order."""

from typing import NamedTuple

import numpy as np

from gpukit._jit import njit, prange
from gpukit.factorization.baseline import alternating_biases, moments
from gpukit.factorization.model.layout import LEVELS, major_first
from gpukit.factorization.solvers.sgd import schedule
from gpukit.neighbors.columns import by_item, gather, levels_of, threads
from gpukit.random import key
from gpukit.streams import Keyed

CONFLICT_FREE_BLOCKS = 64


class Scale(NamedTuple):
    """Training works on z = (r - mean) / deviation; low and high bound the predictions."""

    mean: float
    deviation: float
    low: float
    high: float


class Side(NamedTuple):
    """Ratings grouped by the major side: row j's are indptr[j]:indptr[j + 1] of minor (n,) int32 and values (n,)
    float32 (z).

    order (n,) int64: which input rating stands where; blocks: (major block, minor block, number) of a conflict-free
    schedule or None.
    """

    indptr: np.ndarray
    minor: np.ndarray
    values: np.ndarray
    order: np.ndarray
    blocks: tuple | None


class History(NamedTuple):
    """What each user rated, for the sets R and N of Eq. (1) and to leave it out of recommendations.

    indptr (M + 2,) int64 (one empty row more, for unknown users), items (n,) int32, codes (n,) uint8 (1..254),
    levels (256,) float32: z of a code.
    """

    indptr: np.ndarray
    items: np.ndarray
    codes: np.ndarray
    levels: np.ndarray


def scale_of(ratings):
    """The Scale of a Ratings."""
    mean, deviation = moments(ratings.values)
    return Scale(mean, deviation if deviation > 1e-6 * max(1.0, abs(mean)) else 1.0, *ratings.scale)


def standardized(ratings):
    """(Scale, z (n,) float32) of a Ratings."""
    scale = scale_of(ratings)
    z = np.subtract(ratings.values, np.float32(scale.mean), dtype=np.float32)
    z /= np.float32(scale.deviation)
    return scale, z


def group_by(walk, ratings, z, seed, deterministic=False):
    """The Side of ratings grouped by 'users' or 'items'."""
    sides, shape = (major_first(walk, *pair) for pair in ((ratings.users, ratings.items), ratings.shape))
    return group(*sides, z, shape, seed, deterministic)


def group(major, minor, values, shape, seed, deterministic=False):
    """The Side of ratings grouped by major; shape (major rows, minor rows)."""
    indptr, order = by_item(major, shape[0], threads())
    schedule.shuffle_rows(indptr, order, key(seed, Keyed.ROW_SHUFFLE[0]))
    blocks = None
    if deterministic:
        blocks = conflict_free_blocks(major, minor, shape, seed)
        sort_by_block(indptr, order, minor, blocks[1])
    return Side(indptr, gather(minor, order), gather(values, order), order, blocks)


def conflict_free_blocks(major, minor, shape, seed):
    """(major_block, minor_block, number of blocks) of a schedule in which no two workers share a row."""
    n_blocks = max(1, min(CONFLICT_FREE_BLOCKS, *shape))
    counts = (np.bincount(side, minlength=n) for side, n in zip((major, minor), shape))
    return (*(schedule.blocks_of(count, n_blocks, seed) for count in counts), n_blocks)


@njit
def sort_by_block(indptr, order, minor, block):
    """Sort each row's places by the block of their minor row, stably, in place."""
    for row in range(indptr.size - 1):
        places = order[indptr[row] : indptr[row + 1]]
        sorted_ = places[np.argsort(block[minor[places]], kind="mergesort")]
        for t in range(places.size):
            places[t] = sorted_[t]


def history_of(ratings, scale):
    """(History, place (n,) int64): rating number place[t] of the input is the history's entry t; items ascend in a
    row."""
    codes, values = levels_of(np.ascontiguousarray(ratings.values, np.float32))
    _, by_column = by_item(ratings.items, ratings.shape[1], threads())
    indptr, by_row = by_item(gather(ratings.users, by_column), ratings.shape[0] + 1, threads())
    place = gather(by_column, by_row)
    levels = np.zeros(LEVELS, np.float32)
    levels[1 : len(values) + 1] = (values - scale.mean) / scale.deviation
    codes = gather(codes, place) + np.uint8(1)
    return History(indptr, gather(ratings.items, place), codes, levels), place


def z_baseline(ratings, z):
    """(user biases, item biases) of z = (r - mean) / deviation."""
    return alternating_biases(ratings.users, ratings.items, z, 0.0, ratings.shape)


class Query(NamedTuple):
    """Pairs sorted by user: indptr (M + 2,) int64, items (n,) int32, places (n,) int64: where each came from."""

    indptr: np.ndarray
    items: np.ndarray
    places: np.ndarray


def query_of(users, items, n_users):
    """The Query of pairs of rows; row n_users stands for an unknown user, the number of items for an unknown item."""
    indptr, places = by_item(users, n_users + 1, threads())
    return Query(indptr, gather(items, places), places)


def training_query(history, place, side):
    """The Query that asks for every training rating, its line going where the Side has the rating."""
    return Query(history.indptr, history.items, gather(inverse(side.order), place))


@njit(parallel=True)
def inverse(order):
    """(n,) int64: where each number stands in order (n,), a permutation."""
    where = np.empty_like(order)
    for t in prange(order.size):
        where[order[t]] = t
    return where
