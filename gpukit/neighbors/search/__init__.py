"""Searches: distances between items, a card of each by its name, and the selection's supplement.

A distance is a uint32 key below `worst`: the fraction of agreement is (worst - key) / worst. A pair with a key of
`worst` or more is not a pair of neighbours. A search whose worst is 0 finds no items, and the supplement fills all
slots.

    hamming   number of different bits of two codes. O(N**2 n_words) words, three of them counted at a time on a GPU
    buckets   number of the q fine hashings that differ. A pair shares a fine hashing when all its p * G bits agree.
              Each of q tables is sorted by a hash of 24 bits; items with equal hashes are adjacent, and their bits are
              compared. O(q (N + shared pairs))
    exact     shrunk Pearson correlations (plan.py)
    random    the paper's control group. O(N K)

All are exact. A sparse search lists pairs instead of keys of all of them (select_pairs of cpu.py and gpu.py). STRIPES
of cpu.py and gpu.py has for each other search but `random`

    stripes(items, settings) -> stripe(first, keys): write keys (B, N) uint32, the distances of the query items first,
    first + 1, ..., first + B - 1 from all items. items: gpukit.neighbors.plan.Items
    rows_together() -> number of query rows processed together; B is a multiple of it, except for the last rows

plan.py has the steps of both devices.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

Search = Literal["hamming", "buckets", "exact", "random"]
SEARCHES = get_args(Search)


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
