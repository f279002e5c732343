"""Synthetic documents with the shapes of LETOR data sets.

LETOR's data cannot be redistributed.

A document has latent traits: the match of five streams (body, anchor, title, url, whole) with the query, the lengths of
the streams, fame, and depth in its site. Features combine few traits each and little noise, as LETOR's do: term counts
(log-normal, whole numbers), scores (smooth), flags, links and clicks (heavy tails); a stream without the query's words
has zeros. Each column is then scaled to [0, 1], 6 decimals. Columns are thus correlated, their spreads differ by orders
of magnitude, and training takes a similar number of steps as on real data. The relevance combines some
traits and noise. All values are functions of (seed, document, feature). The arithmetic rounds alike on all machines
(fastmath off, own exponential), so the result depends on neither threads nor machines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from gpukit import random
from gpukit._jit import njit
from gpukit._pool import map_row_blocks
from gpukit.base import check_choice, check_integer, check_real
from gpukit.documents.table import Documents
from gpukit.normals import factor_of_total, normal, shuffled_normals
from gpukit.scheduler import by_block
from gpukit.sorting import segmented_argsort
from gpukit.streams import Keyed

LENGTHS, QUERIES, TRAITS, RELEVANCE, FEATURES = Keyed.DOCUMENTS_SYNTH
STREAMS = 5  # body, anchor, title, url, whole document

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
PRESENCE = np.array([0.9, 0.3, 0.55, 0.25, 0.95], dtype=np.float32)  # probability of the query's words in each stream
ALL = tuple(range(STREAMS))


@dataclass(frozen=True)
class Shape:
    """Counts of documents, queries and features, and their distribution.

    shortest, longest: query lengths; spread: standard deviation of their logarithm; shares: fractions of the labels 0,
    1, ..., or None for a total order 1 to n_t of each query; noise, common: individual and per-query parts of the
    relevance, in units of the traits; tails, grain: factors of the recipe's weights for counts and heavy tails, and of
    its noise.
    """

    documents: int
    queries: int
    features: int
    shortest: int
    longest: int
    spread: float
    shares: tuple | None
    noise: float
    common: float
    tails: float
    grain: float


MSLR = (0.517, 0.324, 0.134, 0.018, 0.007)
Like = Literal["mslr-web30k", "mslr-web10k", "mq2007-list", "mq2008-list", "mq2007", "mq2008"]
SHAPES = {
    "mslr-web30k": Shape(2_270_296, 18_919, 136, 1, 1_251, 0.55, MSLR, 3.0, 2.0, 0.6, 2.2),
    "mslr-web10k": Shape(723_421, 6_000, 136, 1, 809, 0.55, MSLR, 3.0, 2.2, 0.6, 2.2),
    "mq2007-list": Shape(743_790, 1_017, 46, 100, 1_268, 0.23, None, 1.0, 0.0, 1.3, 0.4),
    "mq2008-list": Shape(540_679, 471, 46, 100, 1_831, 0.21, None, 1.0, 0.0, 1.3, 0.4),
    "mq2007": Shape(42_158, 1_017, 46, 6, 147, 0.2, (0.74, 0.20, 0.06), 2.0, 3.2, 1.3, 0.4),
    "mq2008": Shape(9_630, 471, 46, 5, 121, 0.9, (0.812, 0.127, 0.061), 1.5, 1.5, 1.3, 0.4),
}
# (streams, shape, match, length, fame, depth, query, noise, shift): one row of features each, see the columns above.
TERMS = (
    (ALL, COUNT, 1.6, 0.9, 0, 0, 0.0, 0.3, 2.0),
    (ALL, SMOOTH, 0.0, 0.0, 0, 0, 1.0, 0.0, 0.0),
    (ALL, HEAVY, 1.6, 0.9, 0, 0, 0.5, 0.2, 2.0),
)
SCORES = (
    (ALL, SMOOTH, 1.0, -0.2, 0, 0, 0.3, 0.15, 0.0),
    (ALL, SMOOTH, 0.9, 0.1, 0, 0, 0.3, 0.1, 0.0),
    (ALL, SMOOTH, 0.9, 0.4, 0, 0, 0.2, 0.1, 0.0),
    (ALL, SMOOTH, 0.8, 0.3, 0, 0, 0.3, 0.1, 0.0),
)
SIZES = ((ALL, COUNT, 0.0, 1.8, 0, 0, 0.0, 0.05, 7.0),)
LINKS = (
    ((-1,), HEAVY, 0, 0, 2.0, -0.4, 0, 0.6, 0.0),
    ((-1,), COUNT, 0, 0, 2.4, 0, 0, 0.8, 3.0),
    ((-1,), COUNT, 0, 0, 0.5, 0.5, 0, 1.2, 4.0),
)
PLACE = (((-1,), COUNT, 0, 0, -0.1, 0.5, 0, 0.1, 1.5), ((-1,), COUNT, 0, 0, -0.1, 0.6, 0, 0.3, 5.5))
LETOR4 = (*TERMS, *SIZES, *SCORES, *LINKS, *PLACE, ((-1,), COUNT, 0, 0, 1.2, -0.6, 0, 1.0, 0.5))
COUNTS = tuple(
    (ALL, COUNT, match, length, 0, 0, 0.2, noise, shift)
    for match, length, noise, shift in (
        (1.6, 0.9, 0.2, 3.0),
        (1.5, 0.9, 0.4, 1.0),
        (1.7, 0.9, 0.3, 2.5),
        (1.6, 0.9, 0.2, 2.0),
    )
)
SPREADS = ((ALL, HEAVY, 3.2, 1.8, 0, 0, 0.3, 0.6, 2.0),)
NORMALIZED = tuple(
    (ALL, HEAVY, match, length, 0, 0, 0.2, noise, -4.0)
    for match, length, noise in (
        (1.6, -0.9, 0.1),
        (1.5, -0.9, 0.4),
        (1.7, -0.9, 0.3),
        (1.6, -0.9, 0.1),
        (3.2, -1.8, 0.6),
    )
)
WEIGHTED = tuple(
    (ALL, HEAVY, match, length, 0, 0, 0.8, noise, 3.0)
    for match, length, noise in ((1.6, 0.9, 0.1), (1.5, 0.9, 0.4), (1.7, 0.9, 0.3), (1.6, 0.9, 0.1), (3.2, 1.8, 0.6))
)
COVER = ((ALL, COUNT, 0.5, 0, 0, 0, 0.3, 0.2, 1.0), (ALL, SMOOTH, 0.9, 0, 0, 0, -0.3, 0.4, 0.0))
CLICKS = tuple(((-1,), COUNT, 0, 0, 2.2, 0, 0, noise, shift) for noise, shift in ((1.5, -1.0), (1.2, 1.0), (1.4, 2.0)))
MSLR136 = (
    *COVER,
    *SIZES,
    TERMS[1],
    *COUNTS,
    *SPREADS,
    *NORMALIZED,
    *WEIGHTED,
    (ALL, FLAG, 1.0, 0, 0, 0, -0.3, 0.3, 0.0),
    (ALL, SMOOTH, 1.0, -0.4, 0, 0, 0, 0.1, 0.0),
    *SCORES,
    *PLACE,
    *LINKS,
    LINKS[0],
    ((-1,), COUNT, 0, 0, 0.8, 0.3, 0, 0.5, 5.0),
    ((-1,), COUNT, 0, 0, 0.6, -0.3, 0, 0.6, 5.0),
    *CLICKS,
)
RECIPES = {46: LETOR4, 136: MSLR136}


def synth_letor(like: Like = "mslr-web10k", scale: float = 1.0, seed: int = 0) -> Documents:
    """Generate documents with the shape of a LETOR training set.

    Parameters
    ----------
    like : {'mslr-web30k', 'mslr-web10k', 'mq2007-list', 'mq2008-list', 'mq2007', 'mq2008'}
    scale : float
        Fraction of the queries, whose lengths keep their distribution; 1 gives the shape of the paper's Table 1
        (default).
    seed : int
        A seed gives the same result on any machine.

    Returns
    -------
    Documents
        X (l, 46 or 136) float32 in [0, 1]; y labels 0, 1, 2 (to 4 for MSLR), or 1 to n_t, the best n_t, in each query
        of the -list sets; query ids 1 to m.

    Raises
    ------
    ParameterError

    Examples
    --------
    >>> from gpukit import synth_letor
    >>> synth_letor("mq2008", scale=0.01).X.shape[1]
    46
    """
    shape = SHAPES[check_choice("like", like, tuple(SHAPES))]
    share = check_real("scale", scale, 0.0, 1.0, strict=True)
    seed = check_integer("seed", seed, 0)
    offsets = _offsets(shape, share, seed)
    X = np.empty((offsets[-1], shape.features), dtype=np.float32)
    keys = np.array([random.key(seed, stream) for stream in (QUERIES, TRAITS, FEATURES)], dtype=np.uint32)
    features(keys, offsets, recipe(shape), PRESENCE, X)
    scale_columns(X)
    keys[2] = random.key(seed, RELEVANCE)
    return Documents(X, _labels(shape, keys, offsets), offsets, np.arange(1, len(offsets), dtype=np.int64))


def recipe(shape):
    """Return the recipe (n, 9) float32 of the features; see its columns."""
    rows = np.array([(stream, *rest) for streams, *rest in RECIPES[shape.features] for stream in streams])
    heavy = np.isin(rows[:, SHAPE], (COUNT, HEAVY))
    rows[heavy, W_MATCH:W_QUERY] *= shape.tails
    rows[heavy, W_NOISE] *= shape.tails
    rows[:, W_NOISE] *= shape.grain
    return rows.astype(np.float32)


def _offsets(shape, share, seed):
    """Return offsets (m+1,) int64 of the set's first queries.

    Lengths are log-normal, of the given sum, shortest and longest.
    """
    weights = np.exp(shape.spread * shuffled_normals(random.key(seed, LENGTHS), shape.queries))
    factor = factor_of_total(lambda factor: _lengths(shape, factor * weights), shape.documents, 2.0 * shape.longest)
    lengths = _lengths(shape, factor * weights)
    missing = shape.documents - lengths.sum()
    lengths[np.flatnonzero(lengths < shape.longest)[:missing]] += 1
    return np.concatenate(([0], np.cumsum(lengths[: max(1, round(share * shape.queries))])))


def _lengths(shape, wanted):
    """Return whole lengths (m,) int64 in [shortest, longest]; the largest is exactly longest."""
    lengths = np.clip(np.floor(wanted), shape.shortest, shape.longest).astype(np.int64)
    lengths[np.argmax(wanted)] = shape.longest
    return lengths


def _labels(shape, keys, offsets):
    """Return y (l,) float64: ranks per query, or labels."""
    weights = np.array([1.0, 0.3, 0.4, shape.noise, shape.common], dtype=np.float32)
    relevance = np.empty(offsets[-1], dtype=np.float32)
    relevances(keys, offsets, weights, relevance)
    if shape.shares is None:
        return ranks(relevance, offsets)
    cuts = np.floor(np.cumsum(shape.shares[:-1]) * len(relevance)).astype(np.int64)
    return np.searchsorted(np.sort(relevance)[cuts], relevance, side="right").astype(np.float64)


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
    ends = map_row_blocks(lambda rows: (X[rows].min(axis=0), X[rows].max(axis=0)), X.shape)
    low = np.min([lowest for lowest, _ in ends], axis=0).astype(np.float64)
    width = np.max([highest for _, highest in ends], axis=0) - low
    unit = np.divide(1e6, width, out=np.zeros_like(width), where=width > 0)

    def scale(rows):
        X[rows] = np.rint((X[rows] - low) * unit) / 1e6

    map_row_blocks(scale, X.shape)


def ranks(relevance, offsets):
    """Return ranks (l,) float64, 1 to n_t in each query.

    They ascend in relevance (l,) float32, ties by position.
    """
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    out = np.empty(len(relevance), dtype=np.float64)
    out[starts + segmented_argsort(relevance, offsets, device="cpu")] = np.arange(len(relevance)) - starts + 1
    return out
