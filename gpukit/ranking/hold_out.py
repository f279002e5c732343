"""Sample documents, and divide them into folds, in an order that depends on their content alone."""

from typing import NamedTuple

import numpy as np

from gpukit.model_selection.splits import choose_users, hash_floats, hash_groups, hash_rows, renumber
from gpukit.ranking.inputs import Inputs, Queries, query_weights
from gpukit.ranking.solvers.choose import stored_values

FOLDS = 5
ENOUGH = 50  # queries of a sample of whole queries; for fewer, documents are sampled
MOST = 1_000_000  # stored features of a sample


class Sample(NamedTuple):
    """Documents in the order of queries: X (l, n), y (l,), query (l,) ascending, weight (l,) of the query."""

    X: object
    y: np.ndarray
    query: np.ndarray
    weight: np.ndarray

    @property
    def starts(self):
        """The first document of each query, (m,)."""
        return np.flatnonzero(np.diff(self.query, prepend=-1))

    @property
    def weights(self):
        """Weights (m,) of the queries."""
        return self.weight[self.starts]

    @property
    def inputs(self):
        """These documents as inputs.Inputs."""
        return Inputs(self.X, self.y, Queries(None, np.append(self.starts, len(self.y)), None), None)

    @property
    def unit(self):
        """The parts that are held out: "queries" or, if these are few, "documents"."""
        few = 10  # queries below which documents are held out instead
        return "queries" if len(self.starts) >= few else "documents"

    def part(self, rows):
        """Return the Sample of the documents `rows`."""
        return Sample(*(array[rows] for array in self))

    def has_pairs(self):
        """Return True if a query has two levels."""
        return bool(((np.diff(self.y) != 0) & (np.diff(self.query) == 0)).any())


def draw_sample(inputs, weights, group):
    """Return the Sample of the queries of inputs.Inputs that have pairs, or None.

    It has at most MOST stored features: some of the queries or, if these are fewer than ENOUGH, some documents of all.
    Queries and their documents are in the order of their keys.
    """
    queries, lengths = inputs.queries, np.diff(inputs.queries.offsets)
    y, keys = (queries.ordered(array) for array in (inputs.y, hash_rows(inputs.X) ^ hash_floats(inputs.y)))
    weights = query_weights(weights, queries, group)
    weights = np.ones(len(lengths)) if weights is None else weights
    query, query_keys = np.repeat(np.arange(len(lengths)), lengths), hash_groups(keys, queries.offsets)
    query_keys ^= hash_floats(weights)
    paired = np.unique(query[1:][(np.diff(y) != 0) & (np.diff(query) == 0)])
    paired = paired[weights[paired] > 0]
    rows = np.flatnonzero(np.isin(query, paired))
    limit = MOST * len(y) // max(stored_values(inputs.X), 1)
    whole = choose_users(query[rows], query_keys, limit, least=0)
    if np.count_nonzero(whole) >= min(ENOUGH, len(paired)):
        rows = rows[whole[query[rows]]]
    else:
        rows = rows[keys[rows] < np.partition(keys[rows], limit)[limit]]  # equal documents together
    if not len(rows):
        return None
    numbers, _ = renumber(query[rows], query_keys)
    order = np.lexsort((keys[rows], numbers))
    rows = rows[order]
    X = inputs.X[rows if queries.rows is None else queries.rows[rows]]
    return Sample(X, y[rows], numbers[order], weights[query[rows]])


def split_folds(sample):
    """Return [(Sample for training, Sample for evaluation)] of those FOLDS folds with pairs on both sides."""
    fold = (sample.query if sample.unit == "queries" else np.arange(len(sample.y))) % FOLDS
    folds = [(sample.part(np.flatnonzero(fold != k)), sample.part(np.flatnonzero(fold == k))) for k in range(FOLDS)]
    return [(train, held_out) for train, held_out in folds if train.has_pairs() and held_out.has_pairs()]
