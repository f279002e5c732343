"""The minor rows of a batch, by teams of warps (team.py)."""

import functools
from typing import NamedTuple

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.factorization.model.layout import BIAS
from gpukit.factorization.solvers.sgd.batches.kernels.team import (
    Registers,
    begin_row,
    clear,
    learn,
    move,
    of_round,
    rounds_of,
    store,
    stretch_of,
    team_of,
    total,
)
from gpukit.factorization.solvers.sgd.formulas import F32, ZERO
from gpukit.primitives.rows import load_scalars, partial_dot
from gpukit.primitives.warp import group_sum

U32, I32, U64 = np.uint32, np.int32, np.uint64


class Found(NamedTuple):
    """Slot of a group's rating of a round, True if it exists, and the minor row's target."""

    slot: int
    there: bool
    target: float


@device
def _slot(slots, stretch, number, me):
    """Return (slot of the group's rating of a round, True if it exists)."""
    t, there = of_round(stretch, number, me)
    return slots[U64(stretch.first + U64(t))], there


@device
def _found(seen, slot, there, me, held):
    """Prefetch the stored data of a rating for the next round; return the Found."""
    load_scalars(seen, slot, me.lane, me.lanes, me.factors, held.q_next)
    return Found(slot, there, seen[slot, U32(me.lanes * me.factors)])


@device
def _study_found(found, own, rates, me, held):
    """Process one rating of a minor row with the stored copy of the major row."""
    partial = partial_dot(held.p, held.q, me.factors) + (own.extra if me.lane == U32(BIAS) else ZERO)
    error = F32(found.target - group_sum(partial, me.lanes))
    if found.there:
        learn(own, error, rates, me, held)


@functools.cache
def make_walk_minor(lanes, factors, warps):
    """Return walk_minor for teams of `warps` warps, `lanes` threads per rating, each with `factors` factors.

    factors is a multiple of 4.
    """
    size = factors + 1
    width = lanes * size if warps > 1 else 1

    @kernel
    def walk_minor(starts, slots, rows, at_once, seen, Q, rates):
        """Apply Eq. (5) to the minor rows of a batch, with the rows that walk_major has stored.

        starts (n + 1,) int64: row rows[k] has the slots slots[starts[k]:starts[k + 1]]; slots (ratings,) uint32: rows
        of seen; rows (n,) int32, all different; at_once (n,) int32: concurrent steps; seen: see walk_major; Q (rows +
        1, any) float32: parameter rows; rates: formulas.Rates.

        Launch: any grid, blocks of 32 * warps threads; of any multiple of 32 if warps is 1.
        Deterministic: yes, for one lanes and warps; budget.
        Source: Li et al. 2022, Algorithms 2 and 3, Eq. (5); per-row rates after Duchi et al. 2011.
        """
        me = team_of(lanes, factors, 0, warps)
        held = Registers(
            cuda.local.array(factors, np.float32),
            cuda.local.array(factors, np.float32),
            cuda.local.array(factors, np.float32),
            cuda.local.array(size, np.float32),
        )
        parts = cuda.shared.array((warps, width), F32)
        for k in range(I32(cuda.grid(1)) // I32(32 * warps), rows.size, I32(cuda.gridsize(1)) // I32(32 * warps)):
            row, first = U32(rows[U32(k)]), starts[U32(k)]
            stretch = stretch_of(first, starts[U32(k + 1)] - first, at_once[U32(k)], me)
            if stretch.length > 0:
                own = begin_row(Q, row, me, held)
                clear(held.change, size)
                slot, there = _slot(slots, stretch, I32(0), me)
                ahead = _found(seen, slot, there, me, held)
                slot, there = _slot(slots, stretch, I32(1), me)
                for number in range(I32(0), rounds_of(stretch)):
                    for i in range(factors):
                        held.q[i] = held.q_next[i]
                    found, ahead = ahead, _found(seen, slot, there, me, held)
                    slot, there = _slot(slots, stretch, I32(number + 2), me)
                    _study_found(found, own, rates, me, held)
                    if I32(number + 1) % stretch.rounds == 0:
                        total(held.change, size, me, parts)
                        own = move(own, me, held)
                        clear(held.change, size)
                if me.group == 0:
                    store(Q, row, own, me, held)

    return walk_minor
