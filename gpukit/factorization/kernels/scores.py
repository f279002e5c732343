"""Eq. (1) of some users for all items, and the table of what each of them rated that it reads."""

import functools

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.factorization.kernels.influence import Near, terms_of_item
from gpukit.factorization.kernels.rows import lane_of, load_extra
from gpukit.factorization.model.layout import BIAS, NO_NEIGHBOR
from gpukit.primitives.rows import load_row, partial_dot
from gpukit.primitives.warp import group_sum
from gpukit.selection.formulas import LAST, descending_key

U32, I32, U64 = np.uint32, np.int32, np.uint64


@device
def look_up_codes(neighbors, item, table, lane, lanes, count, code):
    """Codes of the lane's neighbours of an item, from the line of one user."""
    for k in range(count):
        neighbor = neighbors[item, U32(U32(4) * U32(lane + U32(k // 4 * lanes)) + U32(k % 4))]
        code[k] = U32(table[U32(neighbor)]) if neighbor >= 0 else U32(NO_NEIGHBOR)


@functools.cache
def make_score_rows(lanes, factors, near):
    """score_rows for `lanes` threads an item, each with `factors` factors and `near` neighbours (multiples of 4; near
    may be 0)."""
    slots = max(near, 1)

    @kernel
    def score_rows(users, tables, neighbors, levels, parameters, hide, keys):
        """Eq. (1) of some users for all items, as keys that sort the best first (selection.formulas.descending_key).

        users (B,) int32: rows of Q; tables (B, N + 1) uint8: code of the user's rating of each item, 0 none; neighbors
        (N + 1, K) int32, -1 for none; levels (256,) float32: z of a code; parameters: arrays.Parameters, P being the
        items; hide: leave rated items out (key 2**32 - 1); keys (B, N) uint32, overwritten.

        Launch: grid (any, B), blocks of a multiple of 32 threads.
        Deterministic: yes; budget.
        Source: Li et al. 2022, Eq. (1).
        """
        lane, line = lane_of(lanes), U32(cuda.blockIdx.y)
        table = tables[line]
        group, groups = I32(cuda.grid(2)[0]) // I32(lanes), I32(cuda.gridsize(2)[0]) // I32(lanes)
        p = cuda.local.array(factors, np.float32)
        q = cuda.local.array(factors, np.float32)
        around = Near(
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.uint32),
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.uint32),
        )
        user = U32(users[line])
        load_row(parameters.Q, user, U32(0), lane, lanes, factors, q)
        q_extra = load_extra(parameters.Q, user, lane)
        for done in range(I32(0), I32(keys.shape[1]), groups):
            item = U32(min(done + group, I32(keys.shape[1]) - I32(1)))
            load_row(parameters.P, item, U32(0), lane, lanes, factors, p)
            partial = partial_dot(p, q, factors)
            if lane == U32(BIAS):
                partial += load_extra(parameters.P, item, lane) + q_extra
            if near:
                look_up_codes(neighbors, item, table, lane, lanes, near, around.code)
                partial += terms_of_item(parameters, item, q_extra, levels, lane, lanes, near, around)
            total = group_sum(partial, lanes)
            if lane == U32(0) and done + group < keys.shape[1]:
                hidden = hide and table[item] != 0
                keys[line, item] = LAST if hidden else descending_key(total)

    return score_rows


@kernel
def fill_tables(users, history, tables):
    """tables[b, item] = code of user b's rating of the item, 0 where there is none.

    users (B,) int32; history: prepare.History, what each user rated; tables (B, any) uint8, overwritten.

    Launch: one block a user, any block.
    Deterministic: yes, exact.
    Source: the set R(i) of Li et al. 2022, Table 1.
    """
    thread, step, line = U32(cuda.threadIdx.x), U32(cuda.blockDim.x), U32(cuda.blockIdx.x)
    user = U32(users[line])
    for item in range(thread, U32(tables.shape[1]), step):
        tables[line, item] = 0
    cuda.syncthreads()
    first, last = U64(history.indptr[user]), U64(history.indptr[user + U32(1)])
    for t in range(U64(first + U64(thread)), last, U64(step)):
        tables[line, U32(history.items[t])] = history.codes[t]
