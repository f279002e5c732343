"""CPU twins of kernels/pair_sums.py: the same names, the same arguments in the same order."""

import numpy as np

from gpukit._jit import copy_row, njit
from gpukit.ranking.formulas import active, child_start, loss_share
from gpukit.ranking.twins.matrix import row_dot
from gpukit.scheduler import by_block


@njit
def _centre(u, size, out):
    """out[:size] = u[:size] minus its mean.

    No difference of two documents contains the mean, whose digits would displace others in large prefix sums. u and out
    may be one array.
    """
    total = 0.0
    for i in range(size):
        total += u[i]
    mean = total / size
    for i in range(size):
        out[i] = u[i] - mean


@njit
def _prefix_sums(table, begin, size, u, sums):
    """sums[r] = sum of u over the first r documents in the plane's order."""
    running = 0.0
    for r in range(size):
        sums[r] = running
        running += u[table[0, begin + r]]
    sums[size] = running


@njit
def _subtract_partners(table, begin, size, sums, z):
    """z[i] -= the sum of u over the partners in one plane."""
    for slot in range(table.shape[0] // 2):
        for i in range(size):
            a, b = table[1 + 2 * slot, begin + i], table[2 + 2 * slot, begin + i]
            z[i] -= sums[max(a, b)] - sums[min(a, b)]


@njit
def pair_sums_of_query(margin, begin, size, height, partners, weight, u, sums, z):
    """z = weight * (A'A u - margin A'e) of one query; the sum of `loss_share`. u, z, sums: scratch of size + 1."""
    tables, counts = partners.tables, partners.counts
    for i in range(size):
        z[i] = counts[0, begin + i] * u[i]
    for plane in range(height):
        _prefix_sums(tables[plane], begin, size, u, sums)
        _subtract_partners(tables[plane], begin, size, sums, z)
    total = 0.0
    for i in range(size):  # writing here would let the arrays' positions change the vectorization
        total += loss_share(u[i], z[i], margin, counts[0, begin + i], counts[1, begin + i])
    for i in range(size):
        z[i] = weight * (z[i] - margin * counts[1, begin + i])
    return weight * total


@njit
def _walk_query(X, v, margin, begin, size, height, partners, weight, scratch, total):
    """Add X_t' z to total[:n] and the loss to total[n]."""
    n, (u, sums, z) = v.size, scratch
    for i in range(size):
        u[i] = row_dot(X[begin + i], v)
    _centre(u, size, u)
    total[n] += pair_sums_of_query(margin, begin, size, height, partners, weight, u, sums, z)
    for i in range(size):
        row, factor = X[begin + i], z[i]
        if factor != 0.0:
            for f in range(n):
                total[f] += factor * row[f]


@njit
def _longest(walk, start, stop):
    """Return the number of documents of the longest query of blocks start to stop."""
    longest = 0
    for index in range(walk.firsts[start], walk.firsts[stop]):
        t = walk.queries[index]
        longest = max(longest, walk.offsets[t + 1] - walk.offsets[t])
    return longest


@by_block(lambda walk: walk.firsts.size - 1)
def pair_product(start, stop, X, v, margin, walk, partners, partial):
    """Twin of kernels.pair_sums.pair_product: a thread for every row of partial."""
    longest = _longest(walk, start, stop)
    for block in range(start, stop):
        total, scratch = np.zeros(v.size + 1), (np.empty(longest), np.empty(longest + 1), np.empty(longest))
        for index in range(walk.firsts[block], walk.firsts[block + 1]):
            t = walk.queries[index]
            begin, size = walk.offsets[t], walk.offsets[t + 1] - walk.offsets[t]
            _walk_query(X, v, margin, begin, size, walk.heights[t], partners, walk.weights[t], scratch, total)
        copy_row(total, partial[block])


@by_block(lambda walk: walk.firsts.size - 1)
def pair_sums(start, stop, u, margin, walk, partners, z, loss):
    """Twin of kernels.pair_sums.pair_sums."""
    longest = _longest(walk, start, stop)
    for block in range(start, stop):
        shares, sums, total = np.empty(longest), np.empty(longest + 1), 0.0
        for index in range(walk.firsts[block], walk.firsts[block + 1]):
            t = walk.queries[index]
            begin, end, height, weight = walk.offsets[t], walk.offsets[t + 1], walk.heights[t], walk.weights[t]
            _centre(u[begin:end], end - begin, shares)
            total += pair_sums_of_query(
                margin, begin, end - begin, height, partners, weight, shares, sums, z[begin:end]
            )
        loss[block] = total


@by_block(lambda u: u.size)
def combine(start, stop, u, margin, counts, sums, weights, z, loss):
    """Twin of kernels.pair_sums.combine."""
    for k in range(stop - start):
        i = start + k
        count, difference = counts.above[i] + counts.below[i], counts.below[i] - counts.above[i]
        product = count * u[i] - sums.above[i] - sums.below[i]
        loss[i] = weights[i] * loss_share(u[i], product, margin, count, difference)
        z[i] = weights[i] * (product - margin * difference)


@njit
def _above(s, c, v, r):
    """Return the sum of v over the documents of a higher level than that at rank r within its margin; s ascending."""
    total, j = 0.0, 0
    while j < s.size and active(s[j], s[r]):
        total += v[j] if c[j] > c[r] else 0.0
        j += 1
    return total


@by_block(lambda offsets: offsets.size - 1)
def p_swx(start, stop, order, scores, level, offsets, u, sums):
    """Twin of kernels.p_swx.p_swx."""
    for t in range(start, stop):
        rows = offsets[t] + order[offsets[t] : offsets[t + 1]]
        s, c, v = scores[rows], level[rows], u[rows]
        back_s, back_c, back_v = -s[::-1], -c[::-1], v[::-1].copy()  # the lower levels, from the top down
        for r in range(rows.size):
            sums.above[rows[r]] = _above(s, c, v, r)
            sums.below[rows[r]] = _above(back_s, back_c, back_v, rows.size - 1 - r)


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
