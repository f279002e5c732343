"""Data of hashes, searches and the supplement, the same on CPU and GPU; run.py has their steps.

**Hashes**: codes of items from their ratings.

A code is settings.n_bits bits (p * q * G: q fine hashings of p * G bits, one after the other) in n_words 32-bit words,
lowest bit first, unused high bits zero. Similar items agree in many bits. Codes of an item without
ratings are zero or undefined.

    simlsh      Li et al., Eq. 3: bit g of an item's code is the sign of sum_i Psi(r_ij) * (+1 or -1 by bit g of user
                i), 1 for a nonnegative sum; Psi(r) = r**psi. Exact: the weights are integers, and 32 sums at a time
                are bit-sliced (formulas.py). O(ratings * n_words)
    minhash     the paper's alternative by Jaccard similarity: an item is the set of its raters. Each of the p * q
                hashings gives every user a random number; the minimum over an item's raters is its value, which two
                items share with probability |A and B| / |A or B| (Broder, "On the resemblance and containment of
                documents", 1997). The G bits of a hashing are random bits of its value: equal for equal values, else
                each with probability 1/2 (b-bit minwise hashing: Li and Koenig, WWW 2010). So `hamming` counts
                agreements, up to chance, and `buckets` requires p equal values. O(ratings * p * q)
    projection  the paper's RP_cos: bit g of an item's code is the sign of its column's product with a random
                direction, sum_i r_ij x_ig, 1 for a nonnegative sum (Charikar, "Similarity estimation techniques from
                rounding algorithms", STOC 2002). Two columns agree in a bit with probability 1 - angle / pi, for any
                length. The coordinates x_ig are approximately normal: sums of four random bytes, whole numbers, so that
                codes are exact. They need a hash for every bit, simLSH's signs one for 32. O(ratings * n_bits)

**Searches**: distances between items, a card of each by its name, and the selection's supplement.

A distance is a uint32 key below `worst`: the fraction of agreement is (worst - key) / worst. A pair with a key of
`worst` or more is not a pair of neighbours. A search whose worst is 0 finds no items, and the supplement fills all
slots.

    hamming   number of different bits of two codes. O(N**2 n_words) words, three of them counted at a time on a GPU
    buckets   number of the q fine hashings that differ. A pair shares a fine hashing when all its p * G bits agree.
              Each of q tables is sorted by a hash of 24 bits; items with equal hashes are adjacent, and their bits are
              compared. O(q (N + shared pairs))
    exact     the paper's Graph Similarity Matrix, shrunk Pearson correlations (run.py)
    random    the paper's control group. O(N K)

All are exact. A sparse search lists pairs instead of keys of all of them (select_pairs of cpu.py and gpu.py). STRIPES
of cpu.py and gpu.py has for each other search but `random`

    stripes(items, settings) -> stripe(first, keys): write keys (B, N) uint32, the distances of the query items first,
    first + 1, ..., first + B - 1 from all items. items: Items
    rows_together() -> number of query rows processed together; B is a multiple of it, except for the last rows
"""

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np

from gpukit.errors import ParameterError

Hash = Literal["simlsh", "minhash", "projection"]
HASHES = get_args(Hash)
Search = Literal["hamming", "buckets", "exact", "random"]
SEARCHES = get_args(Search)
STRIPE_BYTES = 256 << 20  # bytes of the keys of a stripe of query rows on a GPU


class Settings(NamedTuple):
    """Settings of the neighbour search.

    K, p coarse by q fine hashings of `bits` (G) bits, Psi's exponent (simLSH), the search, the seed, the hash; names
    of SEARCHES and HASHES.
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


class Card(NamedTuple):
    """What is known of a search.

    reads_codes: True if it needs codes; is_sparse: True if it lists pairs; worst(settings): the first key that is not
    one of neighbours.
    """

    reads_codes: bool
    is_sparse: bool
    worst: Callable


CARDS = {
    "hamming": Card(True, False, lambda settings: settings.n_bits),
    "buckets": Card(True, False, lambda settings: settings.q),
    "exact": Card(False, True, lambda settings: 1 << 31),  # the key of zero correlation
    "random": Card(False, False, lambda settings: 0),
}


class WeightedUsers(NamedTuple):
    """Users (n,) int32 and levels (n,) uint8 by item; weights (L,) int64 of levels; keys (words,) uint32, padded."""

    users: object
    levels: object
    weights: object
    keys: object
