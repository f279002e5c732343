"""Model of `synth_letor`: latent traits of documents, relevance and features.

All values are functions of (seed, document, feature). The arithmetic rounds alike on all machines (fastmath off, own
exponential), so the result depends on neither threads nor machines.
"""

import numpy as np

from gpukit import random
from gpukit._jit import njit
from gpukit.normals import normal
from gpukit.scheduler import by_block
from gpukit.sorting import segmented_argsort
from gpukit.streams import Keyed

LENGTHS, QUERIES, TRAITS, RELEVANCE, FEATURES = Keyed.DOCUMENTS_SYNTH
STREAMS = 5  # body, anchor, title, url, whole document
PARTS = 64  # parts of the rows for parallel column bounds

# Indices of a document's traits, (TRAITS_OF_ONE,) float32: match and length of each stream, then these.
MATCH, LENGTH, FAME, DEPTH, QUALITY = 0, STREAMS, 2 * STREAMS, 2 * STREAMS + 1, 2 * STREAMS + 2
TRAITS_OF_ONE = 2 * STREAMS + 3

# Transforms of z, the weighted sum of traits and noise.
SMOOTH, COUNT, HEAVY, FLAG = range(4)  # max(z + 4, 0); floor(2^z); 2^z; z > 0
# Columns of a recipe (n, 9) float32: stream (-1: the whole document), transform of z, and weights in z.
STREAM, SHAPE, W_MATCH, W_LENGTH, W_FAME, W_DEPTH, W_QUERY, W_NOISE, SHIFT = range(9)

POWERS_OF_TWO = (2.0 ** np.arange(-32, 33)).astype(np.float32)
EXPONENTIAL = tuple(
    np.float32(value) for value in (1.0, 0.69314718, 0.24022651, 0.055504109, 0.0096181291, 0.0013333558, 0.00015403530)
)  # of 2^f: ln(2)^k / k!
BYTES = np.float32(1.0 / 147.80166)  # four bytes have the variance 4 * (256^2 - 1) / 12


@njit(fastmath=False)
def power_of_two(x):
    """Return 2^x as float32 to about 1e-6, bitwise reproducible.

    x is clipped to [-32, 31].
    """
    x = min(max(x, np.float32(-32.0)), np.float32(31.0))
    whole = np.floor(np.float32(x + np.float32(0.5)))
    rest = np.float32(x - whole)
    value = EXPONENTIAL[6]
    for k in range(5, -1, -1):
        value = np.float32(np.float32(value * rest) + EXPONENTIAL[k])
    return np.float32(value * POWERS_OF_TWO[np.int64(whole) + 32])


@njit(fastmath=False)
def coarse_normal(key, index):
    """Return a float32 of mean 0 and variance 1, within 3.5.

    It is the sum of the four bytes of one random word.
    """
    word = random.bits(key, index)
    total = (word & np.uint32(0xFF)) + ((word >> np.uint32(8)) & np.uint32(0xFF))
    total += ((word >> np.uint32(16)) & np.uint32(0xFF)) + (word >> np.uint32(24))
    return np.float32((np.float32(total) - np.float32(510.0)) * BYTES)


@njit(fastmath=False)
def _traits(key, document, traits):
    """Fill traits (TRAITS_OF_ONE,).

    Matches share the document's quality, lengths its size.
    """
    position = np.int64(document) * (TRAITS_OF_ONE + 1)
    for trait in range(TRAITS_OF_ONE):
        traits[trait] = normal(key, position + trait)
    size = normal(key, position + TRAITS_OF_ONE)
    for stream in range(STREAMS):
        traits[MATCH + stream] = np.float32(0.6) * traits[QUALITY] + np.float32(0.8) * traits[MATCH + stream]
        traits[LENGTH + stream] = np.float32(0.8) * size + np.float32(0.6) * traits[LENGTH + stream]
    traits[FAME] = np.float32(0.4) * traits[QUALITY] + np.float32(0.9) * traits[FAME]


@by_block(lambda offsets: len(offsets) - 1, fastmath=False)
def relevances(start, stop, keys, offsets, weights, out):
    """Fill out (l,) float32 with the latent relevance of each document.

    keys (3,) uint32 of QUERIES, TRAITS and RELEVANCE; weights (5,) float32 of quality, the body's match, fame, noise
    and the common part of a query's documents.
    """
    for query in range(start, stop):
        traits = np.empty(TRAITS_OF_ONE, dtype=np.float32)
        common = weights[4] * normal(keys[0], 2 * np.int64(query))
        for row in range(offsets[query], offsets[query + 1]):
            _traits(keys[1], row, traits)
            out[row] = weights[0] * traits[QUALITY] + weights[1] * traits[MATCH] + weights[2] * traits[FAME]
            out[row] += weights[3] * normal(keys[2], np.int64(row)) + common


@by_block(lambda offsets: len(offsets) - 1, fastmath=False)
def features(start, stop, keys, offsets, recipe, presence, X):
    """Fill X (l, n) float32 with features before they are scaled.

    keys (3,) uint32 of QUERIES, TRAITS and FEATURES; recipe (n, 9) float32, see its columns; presence (STREAMS,)
    float32: fraction of documents with the query's words in a stream; the others have 0 there.
    """
    n = X.shape[1]
    for query in range(start, stop):
        traits = np.empty(TRAITS_OF_ONE, dtype=np.float32)
        rarity = normal(keys[0], 2 * np.int64(query) + 1)
        for row in range(offsets[query], offsets[query + 1]):
            _traits(keys[1], row, traits)
            first = np.int64(row) * (n + STREAMS)
            for column in range(n):
                stream = np.int64(recipe[column, STREAM])
                if stream >= 0 and random.uniform(keys[2], first + n + stream) >= presence[stream]:
                    X[row, column] = np.float32(0.0)
                else:
                    noise = coarse_normal(keys[2], first + column)
                    X[row, column] = _feature(traits, recipe[column], stream, rarity, noise)


@njit(fastmath=False)
def _feature(traits, recipe, stream, rarity, noise):
    """Return one feature: its weighted traits, transformed."""
    z = recipe[SHIFT] + recipe[W_QUERY] * rarity
    if stream >= 0:
        z += recipe[W_MATCH] * traits[MATCH + stream]
        z += recipe[W_LENGTH] * traits[LENGTH + stream]
    z += recipe[W_FAME] * traits[FAME]
    z += recipe[W_DEPTH] * traits[DEPTH]
    z += recipe[W_NOISE] * noise
    shape = np.int64(recipe[SHAPE])
    if shape == SMOOTH:
        return max(np.float32(z + np.float32(4.0)), np.float32(0.0))
    if shape == FLAG:
        return np.float32(1.0) if z > np.float32(0.0) else np.float32(0.0)
    value = power_of_two(z)
    return np.floor(value) if shape == COUNT else value


def scale_columns(X):
    """Scale each column of X (l, n) float32 to [0, 1] in place.

    Values are rounded to 6 decimals. A constant column becomes 0.
    """
    lows, highs = np.full((2, PARTS, X.shape[1]), [[[np.inf]], [[-np.inf]]], dtype=np.float32)
    _column_bounds(X, lows, highs)
    low = lows.min(axis=0).astype(np.float64)
    width = highs.max(axis=0) - low
    _scale(X, low, np.divide(1e6, width, out=np.zeros_like(width), where=width > 0))


@by_block(lambda lows: len(lows), heavy=True, fastmath=False)
def _column_bounds(start, stop, X, lows, highs):
    for part in range(start, stop):
        for row in range(part * len(X) // PARTS, (part + 1) * len(X) // PARTS):
            for column in range(X.shape[1]):
                lows[part, column] = min(lows[part, column], X[row, column])
                highs[part, column] = max(highs[part, column], X[row, column])


@by_block(lambda X: len(X), fastmath=False)
def _scale(start, stop, X, low, unit):
    for row in range(start, stop):
        for column in range(X.shape[1]):
            X[row, column] = np.float32(np.rint((X[row, column] - low[column]) * unit[column]) / 1e6)


def ranks(relevance, offsets):
    """Return ranks (l,) float64, 1 to n_t in each query.

    They ascend in relevance (l,) float32, ties by position.
    """
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    out = np.empty(len(relevance), dtype=np.float64)
    out[starts + segmented_argsort(relevance, offsets, device="cpu")] = np.arange(len(relevance)) - starts + 1
    return out
