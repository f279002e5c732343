"""Parameter rows and neighbourhood terms of Eq. (1) over a group of lanes.

A *parameter row* has the factors, padding with zeros, and layout.EXTRA more numbers: the bias b, the sum of squared
errors s and the baseline bias of the residuals in Eq. (1). layout.Rows has its layout. Lane l holds number l of the
last eight.
"""

from typing import NamedTuple

import numpy as np

from gpukit._cuda import cuda, device
from gpukit.factorization.model.layout import BASE, EXTRA, NO_NEIGHBOR
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import F32, ZERO
from gpukit.primitives.rows import load_row
from gpukit.primitives.warp import group_pick, group_sum

U32, I32, U64 = np.uint32, np.int32, np.uint64
UNRATED = 1 << 16  # factor of the unrated neighbours in the count of `residuals`


@device
def lane_of(lanes):
    """Return the thread's number in its group of lanes."""
    return U32(U32(cuda.threadIdx.x) % U32(lanes))


@device
def load_extra(matrix, row, lane):
    """Load the lane's number of the last eight of a parameter row.

    The L1 cache is bypassed.
    """
    return cuda.ldcg(matrix, (row, U32(U32(matrix.shape[1] - EXTRA) + lane))) if lane < U32(EXTRA) else ZERO


class Near(NamedTuple):
    """A lane's part of one item's neighbourhood, a number a neighbour.

    w, c; offset: baseline biases; code; residual: r - b; words: the codes as stored, four to a word. They are local
    arrays, which a kernel declares itself: those of a device function end with it.
    """

    w: np.ndarray
    c: np.ndarray
    offset: np.ndarray
    code: np.ndarray
    residual: np.ndarray
    words: np.ndarray


@device
def load_words(codes, t, lane, lanes, count, words):
    """Load the lane's words of rating t, four codes each."""
    for i in range(count // 4):
        words[i] = codes[U64(t), U32(lane + U32(i * lanes))]


@device
def unpack(words, count, code):
    """Unpack the codes of the lane's neighbours, four to a word."""
    for k in range(count):
        code[k] = U32(U32(words[k // 4] >> U32(8 * (k % 4))) & U32(0xFF))


@device
def load_influence(influence, row, lane, lanes, count, near):
    """Load the lane's w and c of an item."""
    load_row(influence, row, U32(0), lane, lanes, count, near.w)
    load_row(influence, row, U32(lanes * count), lane, lanes, count, near.c)


@device
def residuals(near, count, levels, base):
    """Set near.residual to r - b of rated neighbours, else 0.

    Returns the number of rated ones + UNRATED * the number of unrated ones.
    """
    code, offset, residual = near.code, near.offset, near.residual
    seen = I32(0)
    for k in range(count):
        known = code[k] != U32(0) and code[k] != U32(NO_NEIGHBOR)
        residual[k] = F32(F32(levels[code[k]] - offset[k]) - base) if known else ZERO
        seen += I32(1) if known else I32(0)
        seen += I32(UNRATED) if code[k] == U32(0) else I32(0)
    return seen


@device
def set_scales(seen, lanes):
    """Return (|R|^-1/2, |N|^-1/2) of Eq. (1) from the lanes' counts of `residuals`."""
    seen = group_sum(seen, lanes)
    return formulas.set_scale(seen & I32(UNRATED - 1)), formulas.set_scale(seen >> I32(16))


@device
def terms(near, count, explicit, implicit):
    """Return the lane's part of terms 2 and 3 of Eq. (1).

    explicit, implicit: |R|^-1/2, |N|^-1/2.
    """
    rated, unrated = ZERO, ZERO
    for k in range(count):
        rated += near.residual[k] * near.w[k]
        unrated += near.c[k] if near.code[k] == U32(0) else ZERO
    return explicit * rated + implicit * unrated


@device
def terms_of_item(parameters, row, q_extra, levels, lane, lanes, count, near):
    """Load an item's neighbourhood and return its `terms`.

    Its codes are unpacked before. q_extra: the lane's number of the user's row.
    """
    load_row(parameters.offsets, row, U32(0), lane, lanes, count, near.offset)
    seen = residuals(near, count, levels, group_pick(q_extra, BASE, lanes))
    load_influence(parameters.influence, row, lane, lanes, count, near)
    explicit, implicit = set_scales(seen, lanes)
    return terms(near, count, explicit, implicit)
