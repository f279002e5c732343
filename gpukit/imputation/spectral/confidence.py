"""Confidence of each vertex from the graph and the mask alone.

It is known before any computation. The imputation recovers spectral slices, and slice k is observed through the
observed vertices only. With U the basis and w_i the missing share of vertex i (1 if its whole slice is missing), the
unobserved share of slice k is

    score_k = sum over i of w_i U_ik^2        (0 to 1, because U's columns have norm 1)

A slice of low rank is recovered well if a part of it is missing, but not if its basis vector is concentrated on
missing vertices (an isolated vertex, a small part of the graph without observations). The lost share of slice k is
modelled as score_k^16. Vertex i consists of the slices in the shares U_ik^2, which add up to 1 (to less with a
partial basis, whose remainder is lost too):

    confidence_i = 1 - w_i (1 - sum over k of U_ik^2 (1 - score_k^16))

It ranks the vertices. It is not a probability and ignores noise and rank. The power 16 had the best mean rank
correlation with actual errors of 15 such models over 19 runs: ego-Facebook's graph (0.43; score_k itself: 0.05), random
graphs (0.14) and road sensors (0.14). In ego-Facebook's four runs the tenth of the missing vertices with the least
confidence had at least 99.7 % of the squared error.
"""

import numpy as np

from gpukit._pool import map_row_blocks
from gpukit.imputation.centering import spread


def slice_scores(basis, lacking):
    """Return (K,) float64, 0 to 1: the missing share of each spectral slice.

    basis: basis.Basis, N vertices and K slices; lacking (N,): missing_shares of a mask.
    """
    rows = np.flatnonzero(lacking)
    result = map_squares(basis.vectors, rows, lambda batch, squares: lacking[batch] @ squares)
    return np.clip(sum(result, np.zeros(len(basis.values))), 0.0, 1.0)


def map_squares(vectors, rows, work):
    """Return [work(rows, squares of their vectors)] for blocks of rows, in parallel."""

    def part(few):
        return work(rows[few], np.square(vectors[rows[few]]))

    return map_row_blocks(part, (len(rows), vectors.shape[1]))


def vertex_confidence(basis, lacking):
    """Return (N,) float64, 0 to 1: confidence of each vertex; 1 for complete vertices.

    basis, lacking: as slice_scores takes them.
    """
    rows = np.flatnonzero(lacking)
    result = 1.0 - slice_scores(basis, lacking) ** 16
    confidence = np.ones(len(lacking))
    for batch, share in map_squares(basis.vectors, rows, lambda batch, squares: (batch, squares @ result)):
        confidence[batch] -= lacking[batch] * (1.0 - share)
    return np.clip(confidence, 0.0, 1.0)


def missing_shares(mask):
    """Return (N,) float64: the missing share of each vertex; mask (N,) or (N, m, n) bool, True = observed."""
    return 1.0 - spread(mask).mean(axis=(1, 2))
