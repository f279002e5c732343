"""CPU twins of kernels/level_tree.py: the same names, the same arguments in the same order."""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.ranking.formulas import active, child_start


@njit(parallel=True)
def start_planes(order, keys, query, rank_level, first_group, group_starts, documents, tables, values):
    """Twin of kernels.level_tree.start_planes."""
    for rank in prange(order.size):
        source = group_starts[first_group[query[rank]] + rank_level[rank]] + order[rank]
        tables[0, 0, rank] = documents[source]
        values[rank] = keys[source]


@njit
def _look_up(values, begin, end, low, high, ranks, found):
    """Where documents begin:end stand among those of a sibling, low:high, of higher levels; both sorted by score."""
    at = order = low
    for r in range(begin, end):
        while at < high and active(values[at], values[r]):
            at += 1
        while order < high and values[order] < values[r]:
            order += 1
        found[r], ranks[r] = at, ranks[r] + order - low


@njit
def _look_down(values, begin, end, low, high, ranks, found):
    """As `_look_up`, for a sibling of lower levels."""
    at = order = low
    for r in range(begin, end):
        while at < high and not active(values[r], values[at]):
            at += 1
        while order < high and values[order] <= values[r]:
            order += 1
        found[r], ranks[r] = at, ranks[r] + order - low


@njit
def _note(table, slot, begin, end, base, bound, found, counts):
    """What was found for documents begin:end: table[1 + 2 slot] = bound, table[2 + 2 slot] = found; counts grow."""
    for r in range(begin, end):
        document = base + table[0, r]
        table[1 + 2 * slot, document] = bound - base
        table[2 + 2 * slot, document] = found[r] - base
        counts[0, document] += abs(bound - found[r])
        counts[1, document] += bound - found[r]


@njit
def _search_child(
    plane, begin, end, own, node, width, query, first_group, group_starts, tables, counts, values, ranks, found
):
    """All siblings of one child, whose documents are begin:end in the order of ranks."""
    base = group_starts[first_group[query]]
    slot = 0
    for child in range(node, node + (tables.shape[1] + 1) // 2):
        if child == own:
            continue
        low = child_start(first_group, group_starts, query, child, width)
        high = child_start(first_group, group_starts, query, child + 1, width)
        if child > own:
            _look_up(values, begin, end, low, high, ranks, found)
        else:
            _look_down(values, begin, end, low, high, ranks, found)
        _note(tables[plane], slot, begin, end, base, low if child > own else high, found, counts)
        slot += 1


@njit
def _search_query(plane, width, query, first_group, group_starts, tables, counts, values, next_values, ranks, found):
    """One query's documents in one plane; the next plane's order and values when there is one."""
    arity = (tables.shape[1] + 1) // 2
    base = group_starts[first_group[query]]
    levels = first_group[query + 1] - first_group[query]
    for own in range((levels + width - 1) // width):
        node = own // arity * arity
        begin = child_start(first_group, group_starts, query, own, width)
        end = child_start(first_group, group_starts, query, own + 1, width)
        start = child_start(first_group, group_starts, query, node, width)
        for r in range(begin, end):
            ranks[r] = start + r - begin
        _search_child(
            plane, begin, end, own, node, width, query, first_group, group_starts, tables, counts, values, ranks, found
        )
    if plane + 1 < tables.shape[0]:
        for r in range(base, group_starts[first_group[query + 1]]):
            tables[plane + 1, 0, ranks[r]] = tables[plane, 0, r]
            next_values[ranks[r]] = values[r]


@njit(parallel=True)
def search_plane(plane, width, query, rank_level, first_group, group_starts, tables, counts, values, next_values):
    """Twin of kernels.level_tree.search_plane: merges in place of binary searches."""
    ranks, found = np.empty(values.size, np.int32), np.empty(values.size, np.int32)
    for t in prange(first_group.size - 1):
        if plane == 0:
            for document in range(group_starts[first_group[t]], group_starts[first_group[t + 1]]):
                counts[0, document] = 0
                counts[1, document] = 0
        _search_query(plane, width, t, first_group, group_starts, tables, counts, values, next_values, ranks, found)
