"""Synthetic documents with the shapes of LETOR data sets.

LETOR's data cannot be redistributed.

A document has latent traits: the match of five streams (body, anchor, title, url, whole) with the query, the lengths of
the streams, fame, and depth in its site. Features combine few traits each and little noise, as LETOR's do: term counts
(log-normal, whole numbers), scores (smooth), flags, links and clicks (heavy tails); a stream without the query's words
has zeros. Each column is then scaled to [0, 1], 6 decimals. Columns are thus correlated, their spreads differ by orders
of magnitude, and training takes a similar number of steps as on real data. The relevance combines some
traits and noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from gpukit import random
from gpukit.base import check_choice, check_integer, check_real
from gpukit.documents import planted
from gpukit.documents.table import Documents
from gpukit.normals import shuffled_normals

PRESENCE = np.array([0.9, 0.3, 0.55, 0.25, 0.95], dtype=np.float32)  # probability of the query's words in each stream
ALL = tuple(range(planted.STREAMS))


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
# (streams, shape, match, length, fame, depth, query, noise, shift): one row of features each, see planted.py.
TERMS = (
    (ALL, planted.COUNT, 1.6, 0.9, 0, 0, 0.0, 0.3, 2.0),
    (ALL, planted.SMOOTH, 0.0, 0.0, 0, 0, 1.0, 0.0, 0.0),
    (ALL, planted.HEAVY, 1.6, 0.9, 0, 0, 0.5, 0.2, 2.0),
)
SCORES = (
    (ALL, planted.SMOOTH, 1.0, -0.2, 0, 0, 0.3, 0.15, 0.0),
    (ALL, planted.SMOOTH, 0.9, 0.1, 0, 0, 0.3, 0.1, 0.0),
    (ALL, planted.SMOOTH, 0.9, 0.4, 0, 0, 0.2, 0.1, 0.0),
    (ALL, planted.SMOOTH, 0.8, 0.3, 0, 0, 0.3, 0.1, 0.0),
)
SIZES = ((ALL, planted.COUNT, 0.0, 1.8, 0, 0, 0.0, 0.05, 7.0),)
LINKS = (
    ((-1,), planted.HEAVY, 0, 0, 2.0, -0.4, 0, 0.6, 0.0),
    ((-1,), planted.COUNT, 0, 0, 2.4, 0, 0, 0.8, 3.0),
    ((-1,), planted.COUNT, 0, 0, 0.5, 0.5, 0, 1.2, 4.0),
)
PLACE = (((-1,), planted.COUNT, 0, 0, -0.1, 0.5, 0, 0.1, 1.5), ((-1,), planted.COUNT, 0, 0, -0.1, 0.6, 0, 0.3, 5.5))
LETOR4 = (*TERMS, *SIZES, *SCORES, *LINKS, *PLACE, ((-1,), planted.COUNT, 0, 0, 1.2, -0.6, 0, 1.0, 0.5))
COUNTS = tuple(
    (ALL, planted.COUNT, match, length, 0, 0, 0.2, noise, shift)
    for match, length, noise, shift in (
        (1.6, 0.9, 0.2, 3.0),
        (1.5, 0.9, 0.4, 1.0),
        (1.7, 0.9, 0.3, 2.5),
        (1.6, 0.9, 0.2, 2.0),
    )
)
SPREADS = ((ALL, planted.HEAVY, 3.2, 1.8, 0, 0, 0.3, 0.6, 2.0),)
NORMALIZED = tuple(
    (ALL, planted.HEAVY, match, length, 0, 0, 0.2, noise, -4.0)
    for match, length, noise in (
        (1.6, -0.9, 0.1),
        (1.5, -0.9, 0.4),
        (1.7, -0.9, 0.3),
        (1.6, -0.9, 0.1),
        (3.2, -1.8, 0.6),
    )
)
WEIGHTED = tuple(
    (ALL, planted.HEAVY, match, length, 0, 0, 0.8, noise, 3.0)
    for match, length, noise in ((1.6, 0.9, 0.1), (1.5, 0.9, 0.4), (1.7, 0.9, 0.3), (1.6, 0.9, 0.1), (3.2, 1.8, 0.6))
)
COVER = ((ALL, planted.COUNT, 0.5, 0, 0, 0, 0.3, 0.2, 1.0), (ALL, planted.SMOOTH, 0.9, 0, 0, 0, -0.3, 0.4, 0.0))
CLICKS = tuple(
    ((-1,), planted.COUNT, 0, 0, 2.2, 0, 0, noise, shift) for noise, shift in ((1.5, -1.0), (1.2, 1.0), (1.4, 2.0))
)
MSLR136 = (
    *COVER,
    *SIZES,
    TERMS[1],
    *COUNTS,
    *SPREADS,
    *NORMALIZED,
    *WEIGHTED,
    (ALL, planted.FLAG, 1.0, 0, 0, 0, -0.3, 0.3, 0.0),
    (ALL, planted.SMOOTH, 1.0, -0.4, 0, 0, 0, 0.1, 0.0),
    *SCORES,
    *PLACE,
    *LINKS,
    LINKS[0],
    ((-1,), planted.COUNT, 0, 0, 0.8, 0.3, 0, 0.5, 5.0),
    ((-1,), planted.COUNT, 0, 0, 0.6, -0.3, 0, 0.6, 5.0),
    *CLICKS,
)
RECIPES = {46: LETOR4, 136: MSLR136}


def synth_letor(like: Like = "mslr-web10k", scale: float = 1.0, seed: int = 0) -> Documents:
    """Generate documents with the shape of a LETOR training set.

    Parameters
    ----------
    like : {'mslr-web30k', 'mslr-web10k', 'mq2007-list', 'mq2008-list', 'mq2007', 'mq2008'}
    scale : float
        Fraction of the queries, whose lengths keep their distribution; 1 gives the shape of the paper's Table 1.
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
    keys = {name: random.key(seed, getattr(planted, name)) for name in ("QUERIES", "TRAITS", "RELEVANCE", "FEATURES")}
    X = np.empty((offsets[-1], shape.features), dtype=np.float32)
    chosen = np.array([keys["QUERIES"], keys["TRAITS"], keys["FEATURES"]], dtype=np.uint32)
    planted.features(chosen, offsets, recipe(shape), PRESENCE, X)
    planted.scale_columns(X)
    chosen[2] = keys["RELEVANCE"]
    return Documents(X, _labels(shape, chosen, offsets), offsets, np.arange(1, len(offsets), dtype=np.int64))


def recipe(shape):
    """Return the recipe (n, 9) float32 of the features; columns in planted.py."""
    rows = np.array([(stream, *rest) for streams, *rest in RECIPES[shape.features] for stream in streams])
    heavy = np.isin(rows[:, planted.SHAPE], (planted.COUNT, planted.HEAVY))
    rows[heavy, planted.W_MATCH : planted.W_QUERY] *= shape.tails
    rows[heavy, planted.W_NOISE] *= shape.tails
    rows[:, planted.W_NOISE] *= shape.grain
    return rows.astype(np.float32)


def _offsets(shape, share, seed):
    """Return offsets (m+1,) int64 of the set's first queries.

    Lengths are log-normal, of the given sum, shortest and longest.
    """
    weights = np.exp(shape.spread * shuffled_normals(random.key(seed, planted.LENGTHS), shape.queries))
    low, high = 0.0, 2.0 * shape.longest
    for _ in range(80):
        middle = 0.5 * (low + high)
        below = _lengths(shape, middle * weights).sum() < shape.documents
        low, high = (middle, high) if below else (low, middle)
    lengths = _lengths(shape, low * weights)
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
    planted.relevances(keys, offsets, weights, relevance)
    if shape.shares is None:
        return planted.ranks(relevance, offsets)
    cuts = np.floor(np.cumsum(shape.shares[:-1]) * len(relevance)).astype(np.int64)
    return np.searchsorted(np.sort(relevance)[cuts], relevance, side="right").astype(np.float64)
