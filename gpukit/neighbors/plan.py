"""Data exchanged by hashes, searches and the supplement, the same on CPU and GPU; the protocol of both devices."""

from typing import NamedTuple, Protocol

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


class Steps(Protocol):
    """A module of steps: cpu.py or gpu.py."""

    def search(self, items, settings, rows=None):
        """Return the plan.Lists of hashed items; see search.host.search."""

    def find(self, columns, settings):
        """Return the plan.Found of a columns.Columns, arrays on the device; ParameterError if K is too large."""

    def fetch(self, array):
        """Return an array of `find` on the host."""
