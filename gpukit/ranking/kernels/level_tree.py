"""GPU kernels of the level tree: start and end of every document's partners, once per Newton step.

twins/level_tree.py has them for the CPU. One thread per rank; positions by binary search in sorted runs, which are
cached.
"""

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.primitives.search import make_partition_point
from gpukit.ranking.formulas import active, child_start

I32 = np.int32
U32 = np.uint32


@kernel
def start_planes(order, keys, ranks, documents, tables, values):
    """Plane 0 of the tree from the sorted groups: tables[0, 0] = documents by (query, level, score), values = scores.

    order (l,) int32: segmented argsort of keys (l,) float64, the scores in the order of ranks, in groups; ranks:
    problem.Ranks; documents (l,) int32: of problem.LevelTree; tables (H, 2 A - 1, l) uint16 or int32, row [0, 0]
    written; values (l,) float64, written.
    Launch: grid ceil(l / block), any block.   Deterministic: yes, exact.   Source: facts of a sort, no formula.
    """
    rank = cuda.grid(1)
    if rank < order.size:
        source = ranks.group_starts[ranks.first_group[ranks.query[rank]] + ranks.level[rank]] + order[rank]
        tables[0, 0, rank] = documents[source]
        values[rank] = keys[source]


@device
def _is_smaller(values, limit, position):
    """Return True if the score at a position is below limit, (score, True to count equal scores as below)."""
    score, with_equal = limit
    value = values[U32(position)]
    return value < score or (with_equal and value == score)


@device
def _is_partner_above(values, score, position):
    """Return True if the score at a position is a partner from above of `score` in SV(w)."""
    return active(values[U32(position)], score)


@device
def _is_no_partner_below(values, score, position):
    """Return True unless the score at a position is a partner from below of `score` in SV(w)."""
    return not active(score, values[U32(position)])


end_of_smaller = make_partition_point(_is_smaller)
end_of_active = make_partition_point(_is_partner_above)
begin_of_active = make_partition_point(_is_no_partner_below)


@kernel
def search_plane(plane, width, ranks, partners, values, next_values):
    """One plane of the level tree: partners of every document in sibling nodes, and the order of the next plane.

    Sibling slot c of document i: tables[plane, 1 + 2 c, i] = bound, tables[plane, 2 + 2 c, i] = position, both counted
    from the query's first rank. bound < position: partners above, ranks bound : position; else partners below, ranks
    position : bound. counts[0, i] += |bound - position| (beta+ + beta- of Eq. 5), counts[1, i] += bound - position
    (beta- - beta+ of Eq. 6); plane 0 sets them.

    plane, width = arity**plane: int; ranks: problem.Ranks; partners: problem.Partners, whose tables[plane, 0] is read,
    the rest of tables[plane], tables[plane + 1, 0] and counts written; values (l,) float64, scores in the order of
    tables[plane, 0]; next_values (l,) float64, the same for plane + 1, written when there is one.
    Launch: grid ceil(l / block), any block.   Deterministic: yes, exact.
    Source: Eq. (4)-(6); margins are searched once per Newton step, as in Lee and Lin 2014, in a tree of levels.
    """
    rank = I32(cuda.grid(1))
    if rank >= values.size:
        return
    tables, counts = partners.tables, partners.counts
    t, bucket = ranks.query[rank], ranks.level[rank] // width
    arity = (tables.shape[1] + 1) // 2
    node, base = bucket // arity * arity, ranks.group_starts[ranks.first_group[t]]
    score, document = values[rank], I32(tables[plane, 0, rank]) + base
    next_rank = rank - child_start(ranks, t, bucket, width)
    next_rank += child_start(ranks, t, node, width)
    both = difference = I32(0)
    for slot in range(arity - 1):
        above = node + slot >= bucket
        child = node + slot + (1 if above else 0)
        low = child_start(ranks, t, child, width)
        high = child_start(ranks, t, child + 1, width)
        bound = low if above else high
        position = end_of_active(values, score, low, high) if above else begin_of_active(values, score, low, high)
        next_rank += end_of_smaller(values, (score, not above), low, high) - low
        tables[plane, 1 + 2 * slot, document] = bound - base
        tables[plane, 2 + 2 * slot, document] = position - base
        both += abs(bound - position)
        difference += bound - position
    counts[0, document] = both + (counts[0, document] if plane > 0 else I32(0))
    counts[1, document] = difference + (counts[1, document] if plane > 0 else I32(0))
    if plane + 1 < tables.shape[0]:
        tables[plane + 1, 0, next_rank] = tables[plane, 0, rank]
        next_values[next_rank] = score
