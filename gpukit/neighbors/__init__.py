"""simLSH: the K most alike items of every item (Li et al., "Locality Sensitive Hash Aggregated Nonlinear Neighborhood
Matrix Factorization for Online Sparse Big Data Analysis", ACM/IMS TDS 2022, doi:10.1145/3497749; Eq. 3, Algorithm 1,
section 4.1).

Each of G bits of an item's code is the sign of sum_i Psi(r_ij) * (+1 or -1 by a random bit of user i), 1 where
the sum is nonnegative. There are p coarse by q fine hashings: p * q * G bits. Other hashes make bits of their own: the
paper's rivals minHash and random projections. Searches, the first two over the bits of any hash:

    hamming   the K items that agree in most of the bits (default: far closer to the exact similarities)
    buckets   the paper's: a pair meets in a fine hashing when all of its p * G bits agree; the K that meet most often
    exact     the paper's GSM: the K with the largest shrunk Pearson correlation over common users
    random    its control group

Ties go to the lower item row. A pair without any agreement is no neighbour; neither is an item without ratings (it gets
random neighbours itself and is never offered). Slots left over are filled with distinct random items, scores NaN.

Cost: hashing O(ratings * p * q * G / 32) words, a few operations each; hamming O(N**2 * p * q * G / 32), buckets O(q *
(N + meetings) + N**2) for the selection, exact O(sum over users of the square of their ratings + N**2); memory O(N *
(p * q * G / 32 + K)) plus a bounded stripe of keys (buckets: 12 more bytes * q an item).
Determinism: integers throughout, a function of the seed, bitwise equal on CPU and GPU and with any number of threads.

    columns.py -> Columns      plan.py -> Settings      cpu.py | gpu.py: find(columns, settings) -> Found, by way of
    hashes/{simlsh,minhash,projection}        Columns -> codes; a further one is a folder and its name in hashes.HASHES
    search/{hamming,buckets,exact,random}     codes or Columns -> distances; the same, in search.SEARCHES
    supplement/                the selected -> neighbours and scores, random items in the slots left over
    shared.py                  each rank of a parallel.Team has some users' ratings; sums of simLSH are added up
"""

import importlib

__all__ = ["SimLSH"]


def __getattr__(name):
    if name in __all__:
        return getattr(importlib.import_module("gpukit.neighbors.estimator"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
