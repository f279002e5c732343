"""Host steps of simLSH on the CPU; gpu.py has the same functions with the same arguments."""

import time

import numpy as np

from gpukit.neighbors import plan, twins
from gpukit.neighbors.columns import threads
from gpukit.selection import cpu as selection
from gpukit.sorting import cpu as sorting

STRIPE_BYTES = 16 << 20  # keys of a stripe: stays near the cache


def hash_codes(columns, settings, chunk=plan.CHUNK):
    """Eq. (3) for all p * q hashings: codes (N, n_words) uint32 of the items of gpukit.neighbors.columns.Columns."""
    weights = plan.level_weights(columns.values, settings.psi)
    units, joins, n_slots = plan.work_units(columns.indptr, chunk)
    slices, n_words = plan.sum_slices(columns.indptr, weights), settings.n_words
    codes = np.empty((len(columns.indptr) - 1, n_words), np.uint32)
    partials, totals = np.empty((n_slots, slices, n_words), np.uint32), np.empty(n_slots, np.int64)
    keys = plan.word_keys(settings.seed, n_words)
    twins.hash_columns(columns.users, columns.levels, weights, keys, units, settings.n_bits, codes, partials, totals)
    twins.join_chunks(joins, settings.n_bits, partials, totals, codes)
    return codes


def hamming_stripes(codes, rated, settings):
    """The function that writes the keys of query rows [first, first + rows) of the hamming search."""
    return lambda first, keys: twins.hamming_distances(codes, rated, first, keys)


def bucket_stripes(codes, rated, settings):
    """Sort all items in all q tables by their codes; the function that writes the keys of a stripe of query rows."""
    width, n_items, q = settings.p * settings.bits, codes.shape[0], settings.q
    hashes, mates = np.empty((q, n_items), np.float32), np.empty((q, n_items), np.int32)
    twins.table_hashes(codes, rated, width, hashes)
    sorting.argsort(hashes.ravel(), sorting.plan(plan.table_offsets(q, n_items), np.float32), mates.ravel())

    def stripe(first, keys):
        twins.fill(keys.ravel(), np.uint32(settings.worst))
        twins.bucket_matches(codes, rated, width, hashes, mates, first, keys)

    return stripe


def search(codes, rated, settings):
    """(neighbors, scores, random slots an item) of all items; rated (N,) bool: has the item any rating?"""
    n_items, k = len(codes), settings.n_neighbors
    stripe = (hamming_stripes if settings.search == "hamming" else bucket_stripes)(codes, rated, settings)
    neighbors, scores = np.empty((n_items, k), np.int32), np.empty((n_items, k), np.float32)
    random_slots = np.empty(n_items, np.int32)
    key, half = plan.supplement_key(settings.seed), plan.permutation_half(n_items)
    rows = plan.stripe_rows(n_items, STRIPE_BYTES, twins.ROWS * threads())
    buffer = np.empty((rows, n_items), np.uint32)
    for first in range(0, n_items, rows):
        keys = buffer[: min(rows, n_items - first)]
        stripe(first, keys)
        indices, values = selection.smallest(keys, k, settings.worst)
        twins.fill_slots(indices, values, first, settings.worst, key, half, n_items, neighbors, scores, random_slots)
    return neighbors, scores, random_slots


def find(columns, settings):
    """Algorithm 1: the plan.Found of all items of a Columns. Raises ParameterError when K does not fit the items."""
    plan.check_items(settings, len(columns.indptr) - 1)
    begun = time.perf_counter()
    codes = hash_codes(columns, settings)
    hashed = time.perf_counter()
    neighbors, scores, random_slots = search(codes, np.diff(columns.indptr) > 0, settings)
    seconds = {"hashing": hashed - begun, "search": time.perf_counter() - hashed}
    return plan.Found(neighbors, scores, int(random_slots.sum()), seconds)
