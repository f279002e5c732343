"""CPU twins of kernels/level_tree.py: the same names, the same arguments in the same order."""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.ranking.formulas import active, child_start


@njit(parallel=True)
def start_planes(order, keys, ranks, documents, tables, values):
    """Twin of kernels.level_tree.start_planes."""
    for rank in prange(order.size):
        source = ranks.group_starts[ranks.first_group[ranks.query[rank]] + ranks.level[rank]] + order[rank]
        tables[0, 0, rank] = documents[source]
        values[rank] = keys[source]


@njit
def _look_up(values, begin, end, low, high, places, found):
    """Where documents begin:end stand among those of a sibling, low:high, of higher levels; both sorted by score."""
    at = order = low
    for r in range(begin, end):
        while at < high and active(values[at], values[r]):
            at += 1
        while order < high and values[order] < values[r]:
            order += 1
        found[r], places[r] = at, places[r] + order - low


@njit
def _look_down(values, begin, end, low, high, places, found):
    """As `_look_up`, for a sibling of lower levels."""
    at = order = low
    for r in range(begin, end):
        while at < high and not active(values[r], values[at]):
            at += 1
        while order < high and values[order] <= values[r]:
            order += 1
        found[r], places[r] = at, places[r] + order - low


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
def _search_child(plane, own, width, query, ranks, partners, values, places, found):
    """All siblings of one child of a query."""
    arity = (partners.tables.shape[1] + 1) // 2
    node, base = own // arity * arity, ranks.group_starts[ranks.first_group[query]]
    begin, end = child_start(ranks, query, own, width), child_start(ranks, query, own + 1, width)
    start, slot = child_start(ranks, query, node, width), 0
    for r in range(begin, end):
        places[r] = start + r - begin
    for child in range(node, node + arity):
        if child == own:
            continue
        low, high = child_start(ranks, query, child, width), child_start(ranks, query, child + 1, width)
        if child > own:
            _look_up(values, begin, end, low, high, places, found)
        else:
            _look_down(values, begin, end, low, high, places, found)
        bound = low if child > own else high
        _note(partners.tables[plane], slot, begin, end, base, bound, found, partners.counts)
        slot += 1


@njit
def _search_query(plane, width, query, ranks, partners, values, next_values, places, found):
    """One query's documents in one plane; the next plane's order and values when there is one."""
    first, last = ranks.first_group[query], ranks.first_group[query + 1]
    for own in range((last - first + width - 1) // width):
        _search_child(plane, own, width, query, ranks, partners, values, places, found)
    tables = partners.tables
    if plane + 1 < tables.shape[0]:
        for r in range(ranks.group_starts[first], ranks.group_starts[last]):
            tables[plane + 1, 0, places[r]] = tables[plane, 0, r]
            next_values[places[r]] = values[r]


@njit(parallel=True)
def search_plane(plane, width, ranks, partners, values, next_values):
    """Twin of kernels.level_tree.search_plane: merges in place of binary searches."""
    places, found = np.empty(values.size, np.int32), np.empty(values.size, np.int32)
    starts, first_group, counts = ranks.group_starts, ranks.first_group, partners.counts
    for t in prange(first_group.size - 1):
        if plane == 0:
            for document in range(starts[first_group[t]], starts[first_group[t + 1]]):
                counts[0, document] = 0
                counts[1, document] = 0
        _search_query(plane, width, t, ranks, partners, values, next_values, places, found)
