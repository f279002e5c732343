"""Host steps of simLSH on the GPU; cpu.py has the same functions with the same arguments. Arrays stay on the device."""

import time

import numpy as np

from gpukit._cuda import cuda
from gpukit.device import upload
from gpukit.neighbors import kernels, plan
from gpukit.selection import gpu as selection
from gpukit.sorting import gpu as sorting

STRIPE_BYTES = 256 << 20  # keys of a stripe of query rows
HASH_BLOCKS = (128, 96, 64, 32)
BLOCK = 256


def to_device(columns):
    """The Columns with users and levels on the device; indptr and values stay on the host, which plans with them."""
    return columns._replace(users=upload.to_device(columns.users), levels=upload.to_device(columns.levels))


def blocks(n, block=BLOCK):
    """Blocks that cover n threads, as a plain int."""
    return int(max(1, -(-n // block)))


def hash_block(n_words):
    """Threads a block of the hashing: the size that leaves the fewest lanes without a word, the larger one if equal."""
    return min(HASH_BLOCKS, key=lambda block: -(-n_words // block) * block)


def fill(array, value):
    """array[...] = value, for a contiguous device array of any shape."""
    kernels.fill[blocks(array.size // 8), BLOCK](array.ravel(), value)


def hash_codes(columns, settings, chunk=plan.CHUNK):
    """Eq. (3) for all p * q hashings: codes (N, n_words) uint32 of the items of gpukit.neighbors.columns.Columns."""
    weights = plan.level_weights(columns.values, settings.psi)
    units, joins, n_slots = plan.work_units(columns.indptr, chunk)
    slices, n_words = -(-plan.sum_slices(columns.indptr, weights) // 8) * 8, settings.n_words
    codes = cuda.device_array((len(columns.indptr) - 1, n_words), np.uint32)
    partials = cuda.device_array((max(n_slots, 1), slices, n_words), np.uint32)
    totals = cuda.device_array(max(n_slots, 1), np.int64)
    keys = plan.word_keys(settings.seed, n_words)
    block = hash_block(n_words)
    kernels.make_hash_columns(block, slices)[(len(units), blocks(n_words, block)), block](
        columns.users,
        columns.levels,
        cuda.to_device(weights),
        cuda.to_device(keys),
        cuda.to_device(units),
        settings.n_bits,
        codes,
        partials,
        totals,
    )
    if len(joins):
        kernels.make_join_chunks(block, slices)[(len(joins), blocks(n_words, block)), block](
            cuda.to_device(joins), settings.n_bits, partials, totals, codes
        )
    return codes


def hamming_stripes(codes, rated, settings):
    """The function that writes the keys of query rows [first, first + rows) of the hamming search."""

    def stripe(first, keys):
        grid = blocks(keys.shape[1], kernels.TILE), blocks(keys.shape[0], kernels.TILE)
        kernels.hamming_distances[grid, kernels.SIDE**2](codes, rated, first, keys)

    return stripe


def bucket_stripes(codes, rated, settings):
    """Sort all items in all q tables by their codes; the function that writes the keys of a stripe of query rows."""
    width, n_items, q = settings.p * settings.bits, codes.shape[0], settings.q
    hashes = cuda.device_array((q, n_items), np.float32)
    mates = cuda.device_array((q, n_items), np.int32)
    kernels.table_hashes[(blocks(n_items), q), BLOCK](codes, rated, width, hashes)
    tables = sorting.plan(plan.table_offsets(q, n_items), np.float32, threads=BLOCK)
    sorting.argsort(hashes.ravel(), tables, mates.ravel())

    def stripe(first, keys):
        fill(keys, settings.worst)
        grid = (blocks(keys.shape[0] * kernels.MATCH_LANES), q)
        kernels.bucket_matches[grid, BLOCK](codes, rated, width, hashes, mates, first, keys)

    return stripe


def search(codes, rated, settings):
    """(neighbors, scores, random slots an item) of all items; rated (N,) uint8: has the item any rating?"""
    n_items, k = codes.shape[0], settings.n_neighbors
    stripe = (hamming_stripes if settings.search == "hamming" else bucket_stripes)(codes, rated, settings)
    neighbors, scores = cuda.device_array((n_items, k), np.int32), cuda.device_array((n_items, k), np.float32)
    random_slots = cuda.device_array(n_items, np.int32)
    key, half = plan.supplement_key(settings.seed), plan.permutation_half(n_items)
    rows = plan.stripe_rows(n_items, STRIPE_BYTES, kernels.TILE)
    buffer = cuda.device_array((rows, n_items), np.uint32)
    for first in range(0, n_items, rows):
        keys = buffer if first + rows <= n_items else buffer[: n_items - first]
        stripe(first, keys)
        indices, values = selection.smallest(keys, k, settings.worst)
        kernels.fill_slots[blocks(keys.shape[0], 64), 64](
            indices, values, first, settings.worst, key, half, n_items, neighbors, scores, random_slots
        )
    return neighbors, scores, random_slots


def find(columns, settings):
    """Algorithm 1: the plan.Found of all items of a Columns whose users and levels are on the device (`to_device`).

    Raises ParameterError when K does not fit the items.
    """
    plan.check_items(settings, len(columns.indptr) - 1)
    begun = time.perf_counter()
    codes = hash_codes(columns, settings)
    rated = cuda.to_device((np.diff(columns.indptr) > 0).astype(np.uint8))
    cuda.synchronize()
    hashed = time.perf_counter()
    neighbors, scores, random_slots = search(codes, rated, settings)
    n_random = int(random_slots.copy_to_host().sum())
    return plan.Found(neighbors, scores, n_random, {"hashing": hashed - begun, "search": time.perf_counter() - hashed})
