"""Oracle of simLSH: Eq. 3 and Algorithm 1 in plain loops and float64, and the exact similarities."""

import math
from collections import Counter, defaultdict

import numpy as np


def codes(users, items, values, signs, n_items, psi):
    """(n_items, n_bits) of 0 and 1: signs (n_users, n_bits) of -1 and +1 weighted by r**psi, summed; >= 0 gives 1."""
    sums = np.zeros((n_items, signs.shape[1]))
    for user, item, value in zip(users, items, values, strict=True):
        sums[item] += float(value) ** psi * signs[user]
    return (sums >= 0).astype(int)


def projections(users, items, values, directions, n_items):
    """(n_items, n_bits) of 0 and 1: signs of the columns' products with directions (n_users, n_bits); 0 gives 1."""
    sums = np.zeros((n_items, directions.shape[1]))
    for user, item, value in zip(users, items, values, strict=True):
        sums[item] += float(value) * directions[user]
    return (sums >= 0).astype(int)


def minima(users, items, hashes, n_items):
    """(n_items, hashings): the least of hashes (n_users, hashings) over the raters of each item (or None)."""
    raters = [{u for u, i in zip(users, items, strict=True) if i == j} for j in range(n_items)]
    return [[min(column[sorted(own)].tolist(), default=None) for column in hashes.T] for own in raters]


def scores(bits, rated, search, q):
    """Return {(a, b): fraction in (0, 1]} of all ordered pairs with any agreement, both rated.

    search: "hamming" or "buckets".
    """
    found = {}
    who = [j for j in range(len(bits)) if rated[j]]
    if search == "hamming":
        for a in who:
            for b in who:
                same = sum(int(x == y) for x, y in zip(bits[a], bits[b], strict=True))
                if a != b and same:
                    found[a, b] = same / bits.shape[1]
        return found
    meetings = Counter()
    for table in np.split(bits, q, axis=1):
        buckets = defaultdict(list)
        for j in who:
            buckets[tuple(table[j])].append(j)
        for members in buckets.values():
            meetings.update((a, b) for a in members for b in members if a != b)
    return {pair: count / q for pair, count in meetings.items()}


def distances(bits, rated, q=None):
    """Return (N, N) keys of all pairs: different bits, or (with q) different fine hashings; None for items without
    ratings."""
    tables = bits.reshape(len(bits), bits.shape[1] if q is None else q, -1)
    keys = [[int((one != other).any(axis=1).sum()) for other in tables] for one in tables]
    usable = np.logical_and.outer(rated, rated) & ~np.eye(len(bits), dtype=bool)
    return np.where(usable, np.array(keys, object), None)


def supplemented(selected, worst, orders):
    """Return [(neighbours, number of random ones)]: the selected with a key below worst, then items in random order.

    selected: per item a list of (other, key); orders: per item all items in its random order.
    """
    lists = []
    for item, (pairs, order) in enumerate(zip(selected, orders, strict=True)):
        found = [other for other, key in pairs if key < worst]
        others = [other for other in order if other != item and other not in found]
        lists.append((found + others[: len(pairs) - len(found)], len(pairs) - len(found)))
    return lists


def neighbors(share, n_items, k):
    """Return, for each item, the list of at most k (other, fraction), larger fraction first, then the lower item."""
    lists = [[] for _ in range(n_items)]
    for (a, b), value in share.items():
        lists[a].append((b, value))
    return [sorted(entries, key=lambda entry: (-entry[1], entry[0]))[:k] for entries in lists]


def gsm(users, items, values, n_items, shrink=100.0):
    """The paper's GSM: n / (n + shrink) * Pearson correlation over the n users that rated both; 0 where undefined."""
    by_item = [{u: float(v) for u, i, v in zip(users, items, values, strict=True) if i == j} for j in range(n_items)]
    similarity = np.zeros((n_items, n_items))
    for a in range(n_items):
        for b in range(n_items):
            both = sorted(by_item[a].keys() & by_item[b].keys())
            x, y = np.array([by_item[a][u] for u in both]), np.array([by_item[b][u] for u in both])
            if a != b and len(both) > 1 and x.std() > 0 and y.std() > 0:
                similarity[a, b] = len(both) / (len(both) + shrink) * np.corrcoef(x, y)[0, 1]
    return similarity


def gsm_of_matrix(ratings, shrink=100.0):
    """The same by sums over a scipy.sparse matrix (users x items), for thousands of items; checked against `gsm`."""
    import scipy.sparse

    x = scipy.sparse.csc_matrix(ratings, dtype=float)
    one, square = x.copy(), x.copy()
    one.data[:] = 1
    square.data **= 2
    n, xy, sx, sxx = ((a.T @ b).toarray() for a, b in ((one, one), (x, x), (x, one), (square, one)))
    with np.errstate(all="ignore"):
        spread = sxx - sx**2 / n
        rho = (xy - sx * sx.T / n) / np.sqrt(spread * spread.T)
        similarity = n / (n + shrink) * np.where((spread > 1e-9) & (spread.T > 1e-9) & (n > 1), rho, 0)
    similarity[~np.isfinite(similarity)] = 0
    np.fill_diagonal(similarity, 0)
    return similarity


def cosines(clicked, damping=10.0):
    """Return (N, N) float64: c_ij / (sqrt(c_i c_j) + damping) of clicks (M, N), 0 for an item with itself."""
    columns = [set(np.flatnonzero(column).tolist()) for column in clicked.T]
    similarity = np.zeros((len(columns), len(columns)))
    for i, one in enumerate(columns):
        for j, other in enumerate(columns):
            if i != j and one & other:
                similarity[i, j] = len(one & other) / (math.sqrt(len(one) * len(other)) + damping)
    return similarity
