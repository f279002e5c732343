"""GPU kernels of the level tree, and of a pass over the queries, for products with the Hessian, gradient and loss.

twins/pair_sums.py has them for the CPU. A pass reads X once. A block processes a list of queries one after the other.
`lanes` threads share a row of X, each with `quads` groups of four numbers. The running X'z stays in their registers for
the whole list; v and the query's u, prefix sums and z are in shared memory (the last three in a workspace for queries
that do not fit).

p_swx is the paper's kernel for sums over active pairs. Algorithm 2 prints `while x_j in SV_i`, which would end at the
first document with a wrong label. Here the margin bounds the loop (scores are sorted), and the label is tested inside.
A block has THREADS documents in shared memory at a time.

The level tree's tables have start and end of every document's partners, once per Newton step: one thread per rank,
positions by binary search in sorted runs, which are cached.
"""

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.primitives.block import block_prefix, block_sum
from gpukit.primitives.search import make_partition_point
from gpukit.primitives.warp import group_sum
from gpukit.primitives.wide import keep_policy, leave_policy
from gpukit.ranking.formulas import active, child_start, loss_share
from gpukit.ranking.kernels.rows import THREADS, WARPS, add_row, clear, flush, row_dot, stage_vector

F64 = np.float64
I32 = np.int32
U32 = np.uint32
PATIENCE = 64  # rows that a thread, and a query, adds in float32 before the sum moves to float64


@device
def _centre(size, space, parts):
    """space[:size] -= its mean, by the block, with a barrier.

    No difference of two documents contains the mean, whose digits would displace others in large prefix sums.
    """
    thread, share = U32(cuda.threadIdx.x), F64(0.0)
    for i in range(thread, size, U32(THREADS)):
        share += space[i]
    mean = block_sum(share, WARPS, parts) / F64(size)
    for i in range(thread, size, U32(THREADS)):
        space[i] -= mean
    cuda.syncthreads()


@device
def _prefix_sums(table, begin, size, space, sums, parts):
    """space[sums + r] = sum of u (space[:size]) over the first r documents in the plane's order, by the block."""
    share = U32(U32(size + U32(THREADS - 1)) // U32(THREADS))
    low = min(U32(U32(cuda.threadIdx.x) * share), size)
    high = min(U32(low + share), size)
    total = F64(0.0)
    for r in range(low, high):
        total += space[U32(table[0, U32(begin + r)])]
    running = block_prefix(total, WARPS, parts)
    for r in range(low, high):
        space[U32(sums + r)] = running
        running += space[U32(table[0, U32(begin + r)])]
    if low < high and high == size:
        space[U32(sums + size)] = running


@device
def _subtract_partners(table, begin, size, space, sums, z):
    """space[z + i] -= the sum of u over the partners in one plane."""
    for i in range(U32(cuda.threadIdx.x), size, U32(THREADS)):
        total, document = F64(0.0), U32(begin + i)
        for slot in range(U32(1), U32(table.shape[0]), U32(2)):
            a, b = U32(table[slot, document]), U32(table[U32(slot + U32(1)), document])
            total += space[U32(sums + max(a, b))] - space[U32(sums + min(a, b))]
        space[U32(z + i)] -= total


@device
def _pair_sums(margin, begin, size, height, partners, weight, space, sums, z, parts):
    """space[z:] = weight * (A'A u - margin A'e) from u = space[:size], centred; the thread's share of the loss."""
    tables, counts = partners.tables, partners.counts
    _centre(size, space, parts)
    for i in range(U32(cuda.threadIdx.x), size, U32(THREADS)):
        space[U32(z + i)] = F64(counts[0, U32(begin + i)]) * space[i]
    for plane in range(U32(0), U32(height)):
        _prefix_sums(tables[plane], begin, size, space, sums, parts)
        cuda.syncthreads()
        _subtract_partners(tables[plane], begin, size, space, sums, z)
        cuda.syncthreads()
    total = F64(0.0)
    for i in range(U32(cuda.threadIdx.x), size, U32(THREADS)):
        count, difference = F64(counts[0, U32(begin + i)]), F64(counts[1, U32(begin + i)])
        product = space[U32(z + i)]
        total += loss_share(space[i], product, margin, count, difference)
        space[U32(z + i)] = weight * (product - margin * difference)
    return weight * total


@device
def _hold(partners, document, slots, registers):
    """Return (order, counts, bounds and positions) of a document in plane 0, loaded early and used late."""
    tables, counts = partners.tables, partners.counts
    registers[0], registers[1], registers[2] = tables[0, 0, document], counts[0, document], counts[1, document]
    for slot in range(slots):
        registers[3 + 2 * slot] = tables[0, U32(1 + 2 * slot), document]
        registers[4 + 2 * slot] = tables[0, U32(2 + 2 * slot), document]


@device
def _held_pair_sums(margin, size, weight, slots, registers, space, sums, z, parts):
    """`_pair_sums` of a query of one plane with at most one document per thread, from loaded numbers.

    It is centred on its first score instead of the mean, which would take two barriers: sums of a few scores stay
    small.
    """
    thread = U32(cuda.threadIdx.x)
    increment = space[U32(registers[0])] - space[0] if thread < size else F64(0.0)
    running = block_prefix(increment, WARPS, parts)
    if thread < size:
        space[U32(sums + thread)] = running
        if thread == U32(size - U32(1)):
            space[U32(sums + size)] = running + increment
    cuda.syncthreads()
    share = F64(0.0)
    if thread < size:
        total, u = F64(0.0), space[thread] - space[0]
        for slot in range(slots):
            a, b = U32(registers[3 + 2 * slot]), U32(registers[4 + 2 * slot])
            total += space[U32(sums + max(a, b))] - space[U32(sums + min(a, b))]
        count, difference = F64(registers[1]), F64(registers[2])
        product = count * u - total
        share = weight * loss_share(u, product, margin, count, difference)
        space[U32(z + thread)] = weight * (product - margin * difference)
    return share


@factory
def make_pair_product(lanes, quads, slots, capacity, exact):
    """Return pair_product for `lanes` threads per row, `quads` groups of four each, and slots + 1 children per node.

    capacity: documents of the longest query in shared memory; 0: u, sums and z are in the workspace. exact: products
    with X in float64; otherwise in float32 for PATIENCE rows of a thread and a query, then sums in float64.
    """
    width, size_of_space, room, numbers = 4 * quads, 3 * capacity + 1, lanes * 4 * quads, 3 + 2 * slots
    real = np.float64 if exact else np.float32
    most_registers = 64  # per thread, for four blocks per multiprocessor: nearly what a product in float32 needs

    @kernel(max_registers=most_registers if quads <= 3 and not exact else 2 * most_registers)
    def pair_product(X, v, margin, walk, partners, partial, workspace):
        """X' W (A'A X v - margin A'e) and v'X' W (A'A X v - 2 margin A'e) + margin p_w, in one pass over the queries.

        margin 0: Eq. (8)'s product; margin 1 and v = w: Eq. (7)'s gradient and Eq. (6)'s loss, without 2 C and w. X (l,
        p) float32 or float64, rows padded with zeros to p, a multiple of 4; v (n,) float64, n <= p; margin float64;
        walk, partners: of problem; partial (blocks, n + 1) float64, written; workspace (blocks, 3 cap + 1)
        float64, used when no shared memory is.

        A query's rows are read twice, the second time backwards, because the last ones are still cached. Positions of a
        query are loaded one query early and its tables before its scores, so that no barrier waits for a load.
        Launch: grid len(walk.firsts) - 1, block 256.   Deterministic: yes.
        Source: Eq. (5)-(8) of Jin and Lin 2014; sums by level after Lee and Lin 2014.
        """
        space = cuda.shared.array(size_of_space, np.float64) if capacity else workspace[cuda.blockIdx.x]
        sums = cuda.shared.array(room, np.float64)
        parts = cuda.shared.array(WARPS, np.float64)
        direction = cuda.shared.array(room, real, 16)
        total = cuda.local.array(width, real)
        registers = cuda.local.array(numbers, np.int32)
        cap = U32(capacity) if capacity else U32(U32(workspace.shape[1] - 1) // U32(3))
        thread = U32(cuda.threadIdx.x)
        lane, group = U32(thread % U32(lanes)), U32(thread // U32(lanes))
        groups, z = U32(THREADS // lanes), U32(U32(2) * cap + U32(1))
        for e in range(width):
            total[e] = real(0.0)
        stage_vector(v, direction)
        clear(sums)
        keep, leave = keep_policy(), leave_policy()
        value, rows = F64(0.0), U32(0)
        queries, offsets = walk.queries, walk.offsets
        first, last = walk.firsts[cuda.blockIdx.x], walk.firsts[cuda.blockIdx.x + 1]
        t = U32(queries[first]) if first < last else U32(0)
        begin, end = U32(offsets[t]), U32(offsets[U32(t + U32(1))])
        for index in range(first, last):
            following = U32(queries[index + 1]) if index + 1 < last else t
            next_begin, next_end = U32(offsets[following]), U32(offsets[U32(following + U32(1))])
            size, height, weight = U32(end - begin), walk.heights[t], walk.weights[t]
            _hold(partners, U32(begin + min(thread, U32(size - U32(1)))), slots, registers)
            for start in range(U32(0), size, groups):  # equal for the whole block, as shuffles require
                i = U32(start + group)
                row = U32(begin + min(i, U32(size - U32(1))))
                dot = group_sum(row_dot(X, row, lane, lanes, quads, direction, real(0.0), keep), lanes)
                if i < size and lane == U32(0):
                    space[i] = F64(dot)
            cuda.syncthreads()
            if height == 1 and size <= U32(THREADS):
                value += _held_pair_sums(margin, size, weight, slots, registers, space, cap, z, parts)
            else:
                value += _pair_sums(margin, begin, size, height, partners, weight, space, cap, z, parts)
            cuda.syncthreads()
            steps = U32(U32(size + groups - U32(1)) // groups)
            for step in range(U32(1), U32(steps + U32(1))):
                i = U32(U32(steps - step) * groups + group)
                if i < size:
                    add_row(X, U32(begin + i), lane, lanes, quads, real(space[U32(z + i)]), total, leave)
            rows = U32(rows + size)
            if rows > U32(groups * U32(PATIENCE)):
                flush(total, lane, lanes, quads, real(0.0), sums)
                rows = U32(0)
            cuda.syncthreads()
            t, begin, end = following, next_begin, next_end
        flush(total, lane, lanes, quads, real(0.0), sums)
        value = block_sum(value, WARPS, parts)
        for f in range(thread, U32(v.size), U32(THREADS)):
            partial[cuda.blockIdx.x, f] = sums[f]
        if thread == U32(0):
            partial[cuda.blockIdx.x, v.size] = value

    return pair_product


@factory
def make_pair_sums(capacity):
    """Return pair_sums for queries of at most `capacity` documents; 0: of any length, through the workspace."""
    size_of_space = 3 * capacity + 1

    @kernel
    def pair_sums(u, margin, walk, partners, z, loss, workspace):
        """z = W (A'A u - margin A'e) and its part of the loss, between X v and X' z.

        u, z (l,) float64, z written where a query has pairs; margin float64; loss (blocks,) float64, written: adds up
        to pair_product's last number; walk, partners, workspace: see pair_product.
        Launch: grid len(walk.firsts) - 1, block 256.   Deterministic: yes.   Source: Eq. (5)-(8) of Jin and Lin 2014.
        """
        space = cuda.shared.array(size_of_space, np.float64) if capacity else workspace[cuda.blockIdx.x]
        parts = cuda.shared.array(WARPS, np.float64)
        cap = U32(capacity) if capacity else U32(U32(workspace.shape[1] - 1) // U32(3))
        value, first, after = F64(0.0), U32(cuda.threadIdx.x), U32(U32(2) * cap + U32(1))
        for index in range(walk.firsts[cuda.blockIdx.x], walk.firsts[cuda.blockIdx.x + 1]):
            t = U32(walk.queries[index])
            begin, size = U32(walk.offsets[t]), U32(walk.offsets[t + U32(1)] - walk.offsets[t])
            for i in range(first, size, U32(THREADS)):
                space[i] = u[U32(begin + i)]
            cuda.syncthreads()
            height, weight = walk.heights[t], walk.weights[t]
            value += _pair_sums(margin, begin, size, height, partners, weight, space, cap, after, parts)
            cuda.syncthreads()
            for i in range(first, size, U32(THREADS)):
                z[U32(begin + i)] = space[U32(after + i)]
            cuda.syncthreads()
        value = block_sum(value, WARPS, parts)
        if cuda.threadIdx.x == 0:
            loss[cuda.blockIdx.x] = value

    return pair_sums


@kernel
def combine(u, margin, counts, sums, weights, z, loss):
    """z = W (A'A u - margin A'e) and its parts of the loss, from existing sums.

    u (l,) float64; margin float64; counts, sums: problem.Sums, beta+ and beta-, alpha+ and alpha- of Eq. (5) for u;
    weights of each document's query: (l,) float64; z, loss (l,) float64, written; loss adds up to pair_product's last
    number.
    Launch: grid ceil(l / block), any block.   Deterministic: yes.   Source: Eq. (6)-(8) of Jin and Lin 2014.
    """
    i = cuda.grid(1)
    if i < u.size:
        count, difference = counts.above[i] + counts.below[i], counts.below[i] - counts.above[i]
        product = count * u[i] - sums.above[i] - sums.below[i]
        loss[i] = weights[i] * loss_share(u[i], product, margin, count, difference)
        z[i] = weights[i] * (product - margin * difference)


@device
def _stage(order, scores, level, u, begin, rank, sign, s, c, v, slot):
    """Put the document at this rank of its query into shared memory; sign -1: score and level negated."""
    i = U32(begin + order[U32(begin + rank)])
    s[slot], c[slot], v[slot] = sign * scores[i], I32(sign) * level[i], u[i]


@device
def _add_tile(s, c, v, count, score, level, total):
    """Return total + the sum of v over the tile's documents of a higher level within the margin."""
    j = U32(0)
    while j < count and active(s[j], score):
        total += v[j] if c[j] > level else F64(0.0)
        j += U32(1)
    return total


@device
def _sums(order, scores, level, u, begin, size, sign, s, c, v, out):
    """out_i = sum of u_j over SV_i^+ of one query, or SV_i^- for sign -1, by the block."""
    thread, last = I32(cuda.threadIdx.x), I32(size - 1)
    for first in range(I32(0), size, I32(THREADS)):
        item = first + thread
        rank = min(item, last) if sign > 0 else last - min(item, last)
        i = U32(begin + order[U32(begin + rank)])
        score, own_level, total = sign * scores[i], I32(sign) * level[i], F64(0.0)
        for tile in range(I32(0), size, I32(THREADS)):
            count = min(I32(THREADS), size - I32(tile))
            if thread < count:
                staged = I32(tile) + thread
                _stage(order, scores, level, u, begin, staged if sign > 0 else last - staged, sign, s, c, v, thread)
            cuda.syncthreads()
            total = _add_tile(s, c, v, U32(count), score, own_level, total)
            if not cuda.syncthreads_or(I32(active(s[count - 1], score))):
                break
        if item < size:
            out[i] = total


@kernel
def p_swx(order, scores, level, offsets, u, sums):
    """sums: above_i = sum of u_j over SV_i^+ and below_i over SV_i^- of Eq. (9).

    For u = 1, X v and X w these are beta, alpha and gamma of Eq. (10), from which f, its gradient and the product with
    its Hessian follow, Eq. (11)-(13). O(n) for each of a query's n documents, for any n.
    order (l,) int32: positions in their query of its documents in ascending score; scores (l,) float64;
    level (l,) int32: dense ranks of the labels of a query, 0 the lowest; offsets (m + 1,) int64; u (l,) float64;
    sums: problem.Sums, overwritten.
    Launch: grid m, block 256.   Deterministic: yes.   Source: Jin and Lin 2014, Algorithm 2.
    """
    s = cuda.shared.array(THREADS, np.float64)
    c = cuda.shared.array(THREADS, np.int32)
    v = cuda.shared.array(THREADS, np.float64)
    begin = offsets[cuda.blockIdx.x]
    size = I32(offsets[cuda.blockIdx.x + 1] - begin)
    _sums(order, scores, level, u, begin, size, F64(1.0), s, c, v, sums.above)
    _sums(order, scores, level, u, begin, size, F64(-1.0), s, c, v, sums.below)


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
