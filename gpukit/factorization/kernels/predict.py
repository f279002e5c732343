"""Eq. (1) for pairs of rows."""

import functools

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.factorization.kernels.influence import Near, load_words, terms_of_item, unpack
from gpukit.factorization.kernels.rows import lane_of, load_extra
from gpukit.factorization.model.layout import BIAS
from gpukit.primitives.rows import as_floats, load_row, load_stored, partial_dot
from gpukit.primitives.warp import group_sum

U32, U64 = np.uint32, np.uint64


@device
def place_of(done, group, count):
    """Return a group's (position uint64, is valid) in one round.

    done: first position of the round. The position is always in range. It has 64 bits: near 2**31 pairs, `done` plus
    the groups exceed an int32.
    """
    place = U64(U64(done) + U64(group))
    return min(place, U64(U64(count) - U64(1))), place < U64(count)


@functools.cache
def make_predict_pairs(lanes, factors, near, half):
    """Return predict_pairs for `lanes` threads a pair.

    Each thread has `factors` factors and `near` neighbours (multiples of 4; near may be 0). half: the factors in Q are
    float16, two to a number.
    """
    slots = max(near, 1)

    @kernel
    def predict_pairs(pairs, parameters, predicted):
        """Compute Eq. (1) for pairs of rows, in the units of training.

        pairs: arrays.Pairs, n of them, codes (n, K / 4) uint32; parameters: arrays.Parameters, K = lanes * near;
        predicted (n,) float32, overwritten.

        Launch: any grid, blocks of a multiple of 32 threads.
        Deterministic: yes; budget.
        Source: Li et al. 2022, Eq. (1).
        """
        lane, levels = lane_of(lanes), pairs.levels
        group, groups = U32(cuda.grid(1)) // U32(lanes), U32(cuda.gridsize(1)) // U32(lanes)
        p = cuda.local.array(factors, np.float32)
        q = cuda.local.array(factors, np.float32)
        q_stored = cuda.local.array(factors, np.float32)
        around = Near(
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.uint32),
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.uint32),
        )
        for done in range(U64(0), U64(pairs.major.size), U64(groups)):
            t, mine = place_of(done, group, pairs.major.size)
            row, other = U32(pairs.major[t]), U32(pairs.minor[t])
            load_row(parameters.P, row, U32(0), lane, lanes, factors, p)
            load_stored(parameters.Q, other, lane, lanes, factors, half, q_stored)
            as_floats(q_stored, factors, half, q)
            q_extra = load_extra(parameters.Q, other, lane)
            partial = partial_dot(p, q, factors)
            if lane == U32(BIAS):
                partial += load_extra(parameters.P, row, lane) + q_extra
            if near:
                load_words(pairs.codes, t, lane, lanes, near, around.words)
                unpack(around.words, near, around.code)
                partial += terms_of_item(parameters, row, q_extra, levels, lane, lanes, near, around)
            total = group_sum(partial, lanes)
            if lane == U32(0) and mine:
                predicted[t] = total

    return predict_pairs
