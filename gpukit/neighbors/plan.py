"""Data exchanged by hashes, searches and the supplement, the same on CPU and GPU."""

from typing import NamedTuple

import numpy as np

from gpukit.errors import ParameterError


class Settings(NamedTuple):
    """Settings of the neighbour search.

    K, p coarse by q fine hashings of `bits` (G) bits, Psi's exponent (simLSH), the search, the seed, the hash; names of
    gpukit.neighbors.search and gpukit.neighbors.hashes.
    """

    n_neighbors: int = 32
    p: int = 3
    q: int = 100
    bits: int = 8
    psi: int = 2
    search: str = "hamming"
    seed: int = 0
    hash: str = "simlsh"

    @property
    def n_bits(self):
        """Number of bits of a whole code: p * q * G."""
        return self.p * self.q * self.bits

    @property
    def n_words(self):
        """Number of 32-bit words of a whole code."""
        return -(-self.n_bits // 32)


class Items(NamedTuple):
    """Input of a search.

    The Columns; codes (N, n_words) uint32, or None if the search does not read them; rated (N,) bool or uint8: True for
    items with ratings. An item without ratings is not a neighbour.
    """

    columns: object
    codes: object
    rated: object


class Lists(NamedTuple):
    """neighbors (N, K) int32, best first; scores (N, K) float32, NaN if random; random_slots (N,) int32 per item."""

    neighbors: object
    scores: object
    random_slots: object


class Compressed(NamedTuple):
    """n ratings in rows: row r has starts[r]:starts[r + 1] of others (n,) int32 and codes (n,) uint8.

    starts (rows + 1 or more,) int64; others: rows of the other side; codes: levels.
    """

    starts: object
    others: object
    codes: object


class PairLists(NamedTuple):
    """Lists of pairs: list b begins at entries[begins[b]] and has sizes[b] of them.

    begins (B + 1,) int64; entries (m,) uint64, a key in front of 32 bits of an item; sizes (B,) int32.
    """

    begins: object
    entries: object
    sizes: object


class Found(NamedTuple):
    """neighbors (N, K) int32; scores (N, K) float32, NaN in random slots; random_slots int; seconds by stage."""

    neighbors: object
    scores: object
    random_slots: int
    seconds: dict


STRIPE_BYTES = 256 << 20  # bytes of the keys of a stripe of query rows on a GPU


def check_items(settings, n_items):
    """Raise ParameterError if n_items items cannot have n_neighbors neighbours each."""
    if settings.n_neighbors > n_items - 1:
        most = f"use n_neighbors={n_items - 1} or fewer" if n_items > 1 else "neighbours need two items or more"
        raise ParameterError(f"n_neighbors={settings.n_neighbors} is too many for {n_items} item(s): {most}.")


def stripe_rows(n_items, budget, multiple=1):
    """Return the query rows whose (rows, n_items) uint32 keys fit `budget` bytes; a multiple of `multiple`."""
    rows = max(1, budget // (4 * n_items * multiple)) * multiple
    return int(min(rows, -(-n_items // multiple) * multiple))


def cut_runs(runs, most):
    """Return runs of rows [(first, last)], divided into pieces of limited length."""
    return [(begin, min(begin + most, last)) for first, last in runs for begin in range(first, last, most)]


def blocks(n, block):
    """Return the number of blocks of `block` threads for n threads, at least one, as a plain int."""
    return int(max(1, -(-n // block)))


class Columns(NamedTuple):
    """Ratings as compressed columns. Item j's ratings are the slice indptr[j]:indptr[j + 1] of the other arrays.

    indptr (N + 1,) int64, on the host; users (n,) int32 row numbers and levels (n,) uint8 into values, ascending within
    a column, on the device; within one level of a column the ratings keep the order of the input. values (L,) float32,
    on the host: the distinct ratings, ascending, L <= 254. by_user: the same ratings by user, items ascending
    (gpukit.ratings.orders.order.Order), which hashes do not need.
    """

    indptr: np.ndarray
    users: np.ndarray
    levels: np.ndarray
    values: np.ndarray
    by_user: object = None


def columns_of(orders):
    """Return the Columns of a gpukit.ratings.orders.order.Orders: its order by item."""
    by_item = orders.by_item
    return Columns(by_item.indptr, by_item.others, by_item.codes, orders.levels.values, orders.by_user)


def whole_multiples(values):
    """Return levels times the least power of two up to 2**8 that makes them whole, float64; None if there is none."""
    exact_scales = 9  # ratings that are multiples of 2**-8 are exact
    values = np.asarray(values, np.float64)
    for scale in range(exact_scales):
        whole = values * 2.0**scale
        if (whole == np.rint(whole)).all():
            return whole
    return None
