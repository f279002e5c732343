"""What the host decides before the hashing and the search: integers only, the same for CPU and GPU."""

from typing import NamedTuple

import numpy as np

from gpukit.errors import ParameterError
from gpukit.random import key

CHUNK = 4095  # most ratings a unit of work: what 12 counter slices hold
WORD_STREAM = 1 << 16  # gpukit.random streams: one a 32-bit word of the code, one for the supplement
SUPPLEMENT_STREAM = (1 << 16) - 1
EXACT_SCALES = 9  # ratings that are multiples of 2**-8 are hashed exactly
WEIGHT_LIMIT = 1 << 31
ROUNDED_WEIGHT = 1 << 20


class Settings(NamedTuple):
    """What decides the neighbours: K, p coarse by q fine hashings of `bits` (G) bits, Psi's exponent, search, seed."""

    n_neighbors: int = 32
    p: int = 3
    q: int = 100
    bits: int = 8
    psi: int = 2
    search: str = "hamming"
    seed: int = 0

    @property
    def n_bits(self):
        """Bits of a whole code: p * q * G."""
        return self.p * self.q * self.bits

    @property
    def n_words(self):
        """32-bit words of a whole code."""
        return -(-self.n_bits // 32)

    @property
    def worst(self):
        """The key from which on a pair is no neighbour: bits that may differ, or fine hashings that may miss."""
        return self.n_bits if self.search == "hamming" else self.q


class Found(NamedTuple):
    """neighbors (N, K) int32; scores (N, K) float32, NaN in random slots; random_slots int; seconds by stage."""

    neighbors: object
    scores: object
    random_slots: int
    seconds: dict


def check_items(settings, n_items):
    """Raise ParameterError when n_items items cannot have n_neighbors neighbours each."""
    if settings.n_neighbors > n_items - 1:
        most = f"use n_neighbors={n_items - 1} or fewer" if n_items > 1 else "neighbours need two items or more"
        raise ParameterError(f"n_neighbors={settings.n_neighbors} is too many for {n_items} item(s): {most}.")


def level_weights(values, psi):
    """Psi(r) = r**psi of each level as int64 weights; a common factor changes no sign in Eq. (3).

    Exact for ratings that are multiples of 2**-8 while the weights stay below 2**31; else rounded to 2**20 steps.
    """
    values = np.asarray(values, np.float64)
    for scale in range(EXACT_SCALES):
        whole = values * 2.0**scale
        if (whole == np.rint(whole)).all():
            weights = whole**psi
            if np.abs(weights).max() < WEIGHT_LIMIT:
                return weights.astype(np.int64)
            break
    weights = values**psi
    return np.rint(weights / np.abs(weights).max() * ROUNDED_WEIGHT).astype(np.int64)


def word_keys(seed, n_words):
    """(n_words,) uint32: the random key of each word of the users' codes H_i."""
    return np.array([key(seed, WORD_STREAM + word) for word in range(n_words)], np.uint32)


def supplement_key(seed):
    """The uint32 key of the random supplement."""
    return np.uint32(key(seed, SUPPLEMENT_STREAM))


def work_units(indptr, chunk=CHUNK):
    """Columns cut into pieces of at most `chunk` ratings, longest first.

    Returns units (U, 4) int64 rows (item, begin, end, slot), an empty column being one empty unit; joins (J, 3) int64
    rows (item, first slot, last slot + 1) of the columns that were cut; and the number of slots. Whole columns have
    slot -1.
    """
    lengths = np.diff(indptr)
    pieces = np.maximum(-(-lengths // chunk), 1)
    item = np.repeat(np.arange(len(lengths)), pieces)
    first_unit = np.cumsum(pieces) - pieces
    part = np.arange(len(item)) - first_unit[item]
    begin = indptr[item] + part * lengths[item] // pieces[item]
    end = indptr[item] + (part + 1) * lengths[item] // pieces[item]
    cut = pieces[item] > 1
    slot = np.where(cut, np.cumsum(cut) - 1, -1)
    units = np.stack([item, begin, end, slot], axis=1).astype(np.int64)
    many = np.flatnonzero(pieces > 1)
    first_slot = slot[first_unit[many]]
    joins = np.stack([many, first_slot, first_slot + pieces[many]], axis=1).astype(np.int64)
    return units[np.argsort(begin - end, kind="stable")], joins, int(cut.sum())


def sum_slices(indptr, weights):
    """Bits that the largest sum of |weights| over a column can need, at least 1."""
    longest = int(np.diff(indptr).max(initial=0))
    return max(1, (longest * int(np.abs(weights).max(initial=0))).bit_length())


def stripe_rows(n_items, budget, multiple=1):
    """Query rows at a time so that their (rows, n_items) uint32 keys fit `budget` bytes; a multiple of `multiple`."""
    rows = max(1, budget // (4 * n_items * multiple)) * multiple
    return int(min(rows, -(-n_items // multiple) * multiple))


def table_offsets(q, n_items):
    """offsets (q + 1,) int64 of q tables of all items, one behind the other."""
    return np.arange(q + 1, dtype=np.int64) * n_items


def permutation_half(n_items):
    """Half the bits of the permutation that `formulas.shuffled` walks."""
    return max(1, -(-(n_items - 1).bit_length() // 2))
