"""simLSH: the K most similar items of every item.

Paper: Li et al., "Locality Sensitive Hash Aggregated Nonlinear Neighborhood Matrix Factorization for Online Sparse Big
Data Analysis", ACM/IMS TDS 2022, doi:10.1145/3497749; Eq. 3, Algorithm 1, section 4.1.

Each of G bits of an item's code is the sign of sum_i Psi(r_ij) * (+1 or -1 by a random bit of user i), 1 for a
nonnegative sum. There are p coarse by q fine hashings: p * q * G bits. The paper's alternatives minHash and random
projections compute other bits. Searches, the first two over the bits of any hash:

    hamming   the K items with the most equal bits (default: much closer to the exact similarities)
    buckets   the paper's: a pair shares a fine hashing when all of its p * G bits agree; the K with the most shared
    exact     the paper's GSM: the K with the largest shrunk Pearson correlation over common users
    random    the paper's control group

Ties are resolved by the lower item row. A pair without any agreement is not a neighbour. An item without ratings gets
random neighbours and is never a neighbour. Empty slots are filled with distinct random items, scores NaN.

Cost: hashing O(ratings * p * q * G / 32) words, a few operations each; hamming O(N**2 * p * q * G / 32), buckets O(q *
(N + shared pairs) + N**2) for the selection, exact O(sum over users of the square of their ratings); memory O(N *
(p * q * G / 32 + K)) plus a bounded stripe of keys (buckets: 12 more bytes * q per item). Determinism: integers, a
function of the seed, bitwise equal on CPU and GPU and with any number of threads.

    plan.py       Columns, Settings; codes of items from Columns by simlsh, minhash, projection; distances by hamming,
                  buckets, exact, random; the supplement: the selection -> neighbours, random items in empty slots
    cpu.py, gpu.py: find(columns, settings) -> Found -> hash_twins.py, search_twins.py | hash_kernels.py,
                  search_kernels.py -> formulas.py
    item_knn.py   clicks: exact cosines of items, and a recommender by them
    shared.py     each rank of a parallel.Team has a part of the users' ratings; simLSH's sums are added
"""

from gpukit._lazy import on_demand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpukit.neighbors.estimator import SimLSH as SimLSH

_HOMES = {"SimLSH": "estimator"}
__all__ = sorted(_HOMES)
if not TYPE_CHECKING:
    __getattr__, __dir__ = on_demand(__name__, _HOMES)
