"""CPU twins of kernels/level_tree.py: the same names, the same arguments in the same order."""

import numpy as np

from gpukit._jit import njit
from gpukit.ranking.formulas import active, child_start
from gpukit.scheduler import by_block


@by_block(lambda order: order.size)
def start_planes(start, stop, order, keys, ranks, documents, tables, values):
    """Twin of kernels.level_tree.start_planes."""
    for k in range(stop - start):
        rank = start + k
        source = ranks.group_starts[ranks.first_group[ranks.query[rank]] + ranks.level[rank]] + order[rank]
        tables[0, 0, rank] = documents[source]
        values[rank] = keys[source]


@njit
def _look_up(values, begin, end, low, high, places, positions):
    """Positions of documents begin:end among those of a sibling, low:high, of higher levels; both sorted by score."""
    index = order = low
    for k in range(end - begin):
        value = values[begin + k]
        while index < high and active(values[index], value):
            index += 1
        while order < high and values[order] < value:
            order += 1
        positions[k], places[k] = index, places[k] + order - low


@njit
def _look_down(values, begin, end, low, high, places, positions):
    """`_look_up` for a sibling of lower levels."""
    index = order = low
    for k in range(end - begin):
        value = values[begin + k]
        while index < high and not active(value, values[index]):
            index += 1
        while order < high and values[order] <= value:
            order += 1
        positions[k], places[k] = index, places[k] + order - low


@njit
def _note(table, slot, begin, end, base, bound, positions, counts):
    """Store results of documents begin:end: table[1 + 2 slot] = bound, table[2 + 2 slot] = positions; add counts."""
    for k in range(end - begin):
        document = base + table[0, begin + k]
        table[1 + 2 * slot, document] = bound - base
        table[2 + 2 * slot, document] = positions[k] - base
        counts[0, document] += abs(bound - positions[k])
        counts[1, document] += bound - positions[k]


@njit
def _search_child(plane, bucket, width, query, ranks, partners, values, places, positions):
    """Process all siblings of one child of a query."""
    arity = (partners.tables.shape[1] + 1) // 2
    node, base = bucket // arity * arity, ranks.group_starts[ranks.first_group[query]]
    begin, end = child_start(ranks, query, bucket, width), child_start(ranks, query, bucket + 1, width)
    start, slot = child_start(ranks, query, node, width), 0
    places, positions = places[begin - base : end - base], positions[begin - base : end - base]
    for k in range(end - begin):
        places[k] = start + k
    for child in range(node, node + arity):
        if child == bucket:
            continue
        low, high = child_start(ranks, query, child, width), child_start(ranks, query, child + 1, width)
        if child > bucket:
            _look_up(values, begin, end, low, high, places, positions)
        else:
            _look_down(values, begin, end, low, high, places, positions)
        bound = low if child > bucket else high
        _note(partners.tables[plane], slot, begin, end, base, bound, positions, partners.counts)
        slot += 1


@njit
def _search_query(plane, width, query, ranks, partners, values, next_values, places, positions):
    """Process one query in one plane; write the order and values of the next plane if there is one."""
    first, last = ranks.first_group[query], ranks.first_group[query + 1]
    for bucket in range((last - first + width - 1) // width):
        _search_child(plane, bucket, width, query, ranks, partners, values, places, positions)
    tables = partners.tables
    if plane + 1 < tables.shape[0]:
        base = ranks.group_starts[first]
        for k in range(ranks.group_starts[last] - base):
            tables[plane + 1, 0, places[k]] = tables[plane, 0, base + k]
            next_values[places[k]] = values[base + k]


@by_block(lambda ranks: ranks.first_group.size - 1)
def search_plane(start, stop, plane, width, ranks, partners, values, next_values):
    """Twin of kernels.level_tree.search_plane: merges in place of binary searches."""
    starts, first_group, counts = ranks.group_starts, ranks.first_group, partners.counts
    longest = 0
    for t in range(start, stop):
        longest = max(longest, starts[first_group[t + 1]] - starts[first_group[t]])
    places, positions = np.empty(longest, np.int32), np.empty(longest, np.int32)
    for t in range(start, stop):
        if plane == 0:
            for document in range(starts[first_group[t]], starts[first_group[t + 1]]):
                counts[0, document] = 0
                counts[1, document] = 0
        _search_query(plane, width, t, ranks, partners, values, next_values, places, positions)
