"""GPU kernels of online updates: merging ratings into a history, identifying new rows. CPU twins: twins.py."""

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA, SQUARES
from gpukit.factorization.prepare.formulas import ASIDE, KNOWN, chunk_count, field, first_factor
from gpukit.factorization.prepare.kernels import WARPS, block_sum
from gpukit.primitives.search import lower_bound, upper_bound
from gpukit.primitives.warp import FULL

U32, U64, I64, U8 = np.uint32, np.uint64, np.int64, np.uint8
ZERO = np.float32(0)
SHARE = 32  # old ratings that a lane moves at once


@kernel
def mark_new(rows, first, seen):
    """seen[1 + r - first] = 1 for rows r >= first; seen[0] = 1 if a row is negative or exceeds seen.

    rows (n,) int32; first int64; seen (1 + new rows,) uint8, in place.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for t in range(I64(cuda.grid(1)), I64(rows.size), I64(cuda.gridsize(1))):
        r = I64(rows[U64(t)])
        place = I64(r - first + I64(1))
        if r < I64(0) or place >= I64(seen.size):
            seen[0] = U8(1)
        elif place > I64(0):
            seen[U64(place)] = U8(1)


@kernel
def rename_new(rows, first, names, renamed):
    """renamed[t] = names[rows[t] - first] if rows[t] >= first, else rows[t].

    rows, renamed (n,) int32, renamed overwritten; first int64; names (new rows,) int32.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for t in range(I64(cuda.grid(1)), I64(rows.size), I64(cuda.gridsize(1))):
        place = I64(I64(rows[U64(t)]) - first)
        renamed[U64(t)] = names[U64(place)] if place >= I64(0) else rows[U64(t)]


@kernel
def find_levels(values, levels, codes, missing):
    """codes[t] = number of the level of rating t.

    values (n,) float32; levels (L,) float32, ascending, L at most 254; codes (n,) uint8, overwritten; missing (1,)
    int64, initially n: the first rating that is not a level.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for t in range(I64(cuda.grid(1)), I64(values.size), I64(cuda.gridsize(1))):
        position = lower_bound(levels, values[U64(t)], 0, levels.size)
        is_level = position < levels.size and levels[U64(min(position, I64(levels.size - 1)))] == values[U64(t)]
        codes[U64(t)] = U8(position if is_level else I64(0))
        if not is_level:
            cuda.atomic.min(missing, 0, t)


@kernel
def find_pairs(keys, user_shift, item_shift, item_width, level_width, history, positions, marked, known):
    """positions[k] = position of the pair of key k in a history, or its insertion point; marked[k] = key k with a mark.

    The mark is 0 for new pairs, ASIDE for known pairs with the level of the key, KNOWN for those with another level.
    keys (n,) uint64, in any order; user_shift, item_shift, item_width, level_width int32: bits of its fields; history:
    arrays.History, whose last row is empty; later users are inserted at its end; positions (n,) uint32 and marked
    (n,) uint64, overwritten; known (1,) int64: the number of known pairs is added.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours (bisection in the user's ratings).
    """
    last, items, codes = I64(history.indptr.size - 2), history.items, history.codes
    for k in range(I64(cuda.grid(1)), I64(keys.size), I64(cuda.gridsize(1))):
        key = keys[U64(k)]
        user, item = min(I64(U64(key >> U64(user_shift))), last), I64(field(key, item_shift, item_width))
        end = I64(history.indptr[U64(user + 1)])
        place = lower_bound(items, item, history.indptr[U64(user)], end)
        stored = U64(place if place < end else I64(0))
        positions[U64(k)], mark = U32(place), U64(0)
        if place < end and I64(items[stored]) == item:
            mark = ASIDE if U64(codes[stored]) == U64(field(key, 0, level_width) + U64(1)) else KNOWN
            cuda.atomic.add(known, 0, I64(1))
        marked[U64(k)] = U64(key | mark)


@kernel
def correct_codes(keys, positions, level_width, codes, before):
    """codes[positions[k]] = level of key k + 1; before[k] = key k with the previous level.

    keys (n,) uint64, of distinct pairs, marked or not; positions (n,) uint32; level_width int32; codes uint8, of a
    history, in place; before (n,) uint64, overwritten, not marked.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    mask = U64((U64(1) << U64(level_width)) - U64(1))
    for k in range(I64(cuda.grid(1)), I64(keys.size), I64(cuda.gridsize(1))):
        key, place = U64(keys[U64(k)] & U64(~(ASIDE | KNOWN))), U64(positions[U64(k)])
        before[U64(k)] = U64(U64(key & U64(~mask)) | U64(codes[place] - U8(1)))
        codes[place] = U8(U64(key & mask) + U64(1))


@kernel
def insert_records(items, codes, keys, positions, item_shift, item_width, level_width, all_items, all_codes):
    """all_items, all_codes = items and codes with new ratings inserted; positions[k] old ratings precede that of key k.

    items (m,) int32, codes (m,) uint8; keys (n,) uint64 and positions (n,) uint32, ascending; item_shift, item_width,
    level_width int32: fields of a key; all_items (m + n,) int32 and all_codes (m + n,) uint8, overwritten: a new
    rating's code is its level + 1.
    Launch: any grid, blocks of a multiple of 32 threads; a warp moves consecutive ratings.
    Deterministic: yes, exact.
    Source: ours (merge by rank: a warp counts the new ratings before its first old one by bisection and continues from
    there).
    """
    old, piece = I64(items.size), I64(32 * SHARE)
    for first in range(I64(cuda.grid(1)) // I64(32) * piece, old, I64(cuda.gridsize(1)) // I64(32) * piece):
        before = upper_bound(positions, U32(first), 0, keys.size)
        coming = I64(positions[U64(before)]) if before < keys.size else old
        for t in range(first + I64(cuda.laneid), min(I64(first + piece), old), I64(32)):
            item, code = items[U64(t)], codes[U64(t)]
            while coming <= t:
                before += I64(1)
                coming = I64(positions[U64(before)]) if before < keys.size else old
            all_items[U64(t + before)] = item
            all_codes[U64(t + before)] = code
    for k in range(I64(cuda.grid(1)), I64(keys.size), I64(cuda.gridsize(1))):
        target = U64(I64(positions[U64(k)]) + k)
        all_items[target] = np.int32(field(keys[U64(k)], item_shift, item_width))
        all_codes[target] = U8(field(keys[U64(k)], 0, level_width) + U64(1))


@kernel
def add_starts(before, added, out):
    """out[r] = before[min(r, last)] + added[r].

    before (any,) and added, out (rows + 1,) int64: first rating of each row; out is overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for r in range(I64(cuda.grid(1)), I64(out.size), I64(cuda.gridsize(1))):
        out[U64(r)] = before[U64(min(r, I64(before.size - 1)))] + added[U64(r)]


@kernel
def flag_rows(before, added, fresh, rated):
    """fresh[r] = 1 if row r has its first ratings; rated[r] = 1 if it has any.

    before (any,), added (at least rows + 1,) int64: first old and first new rating of each row; fresh, rated (rows,)
    uint8, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    end = I64(before.size - 1)
    for r in range(I64(cuda.grid(1)), I64(fresh.size), I64(cuda.gridsize(1))):
        had = before[U64(min(r + 1, end))] > before[U64(min(r, end))]
        has = added[U64(r + 1)] > added[U64(r)]
        fresh[U64(r)], rated[U64(r)] = U8(has and not had), U8(has or had)


@kernel
def mark_fixed(keys, user_shift, item_shift, item_width, users, items, marked):
    """marked[k] = key k, with ASIDE if neither its user nor its item is flagged.

    keys (n,) uint64; user_shift, item_shift, item_width int32; users, items uint8 flags of rows; marked (n,) uint64,
    overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for k in range(I64(cuda.grid(1)), I64(keys.size), I64(cuda.gridsize(1))):
        key = keys[U64(k)]
        moves = users[U64(key >> U64(user_shift))] or items[field(key, item_shift, item_width)]
        marked[U64(k)] = key if moves else U64(key | ASIDE)


@kernel
def read_base(table, base):
    """base[r] = baseline bias of parameter row r.

    table (rows + 1 or more, stride) float32; base (rows,) float64, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    position = U64(table.shape[1] - EXTRA + BASE)
    for r in range(I64(cuda.grid(1)), I64(base.size), I64(cuda.gridsize(1))):
        base[U64(r)] = np.float64(table[U64(r), position])


@kernel
def fresh_means(starts, others, codes, z, other_bias, damping, flags, bias):
    """prepare.kernels.residual_means of flagged rows; the bias of other rows is unchanged.

    starts, others, codes, z, other_bias, damping: see residual_means; flags (rows,) uint8; bias (rows,) float64, in
    place.
    Launch: any grid, blocks of a multiple of 32 threads, at most 256; adjacent rows are in different blocks, since new
    rows come last.
    Deterministic: yes; budget.
    Source: Koren 2010, sec. 2.1.
    """
    marks, parts = cuda.shared.array(WARPS, np.uint32), cuda.shared.array(WARPS, np.float64)
    block, blocks, threads = I64(cuda.blockIdx.x), I64(cuda.gridDim.x), I64(cuda.blockDim.x)
    for first in range(block, I64(flags.size), blocks * threads):
        own = I64(first + I64(cuda.threadIdx.x) * blocks)
        votes = U32(
            cuda.ballot_sync(FULL, own < I64(flags.size) and flags[U64(min(own, I64(flags.size - 1)))] != U8(0))
        )
        if cuda.laneid == 0:
            marks[U32(cuda.threadIdx.x) // U32(32)] = votes
        cuda.syncthreads()
        for warp in range(threads // I64(32)):
            left = marks[warp]
            while left != U32(0):  # the same for the whole block
                row = U64(first + (warp * I64(32) + I64(cuda.ffs(left) - 1)) * blocks)
                left = U32(left & U32(left - U32(1)))
                begin, end, total = I64(starts[row]), I64(starts[row + U64(1)]), np.float64(0.0)
                for t in range(begin + I64(cuda.threadIdx.x), end, threads):
                    total += np.float64(z[U32(codes[U64(t)])]) - other_bias[U32(others[U64(t)])]
                total = block_sum(total, parts)
                if cuda.threadIdx.x == 0:
                    bias[row] = total / (np.float64(end - begin) + damping)
        cuda.syncthreads()


@device
def begin_row(first, row, stride, out):
    """Initialize a parameter row `out` (stride,) by a warp: see prepare.kernels.start_rows."""
    position, row_base = I64(stride - EXTRA), np.float32(first.base[U64(row)])
    for f in range(I64(cuda.laneid), I64(stride), I64(32)):
        wanted = f < first.n_factors and row_base != ZERO
        value = first_factor(first.seed_key, U64(row * first.n_factors + f)) if wanted else ZERO
        of_base = f == position + I64(BASE) or (f == position + I64(BIAS) and first.biased)
        out[U64(f)] = row_base if of_base else value


@kernel
def begin_rows(table, flags, starts, first, fixed_squares, work):
    """Initialize flagged parameter rows and copy the others, with a sum of squared errors that fixes them.

    The sum of squared errors of a flagged row is its number of ratings, that of other rows is fixed_squares, whose
    rate is negligible. table, work (rows + 1, stride) float32, work overwritten, its last row (of unknown ids) with 0;
    flags (rows,) uint8; starts (rows + 1 or more,) int64: first rating of each row; first: formulas.FirstRows;
    fixed_squares float32.
    Launch: any grid, blocks of a multiple of 32 threads; a warp processes whole rows.
    Deterministic: yes, exact.
    Source: ours.
    """
    rows, squares = I64(flags.size), I64(table.shape[1] - EXTRA + SQUARES)
    for r in range(I64(cuda.grid(1)) // I64(32), rows + 1, I64(cuda.gridsize(1)) // I64(32)):
        if r < rows and flags[U64(r)] != U8(0):
            begin_row(first, r, table.shape[1], work[U64(r)])
            if cuda.laneid == squares % I64(32):  # the lane that wrote there
                work[U64(r), U64(squares)] = np.float32(starts[U64(r + 1)] - starts[U64(r)])
        else:
            for f in range(I64(cuda.laneid), I64(table.shape[1]), I64(32)):
                kept = fixed_squares if f == squares else table[U64(r), U64(f)]
                work[U64(r), U64(f)] = kept if r < rows else ZERO


@kernel
def take_flagged(source, flags, out):
    """out[r] = source[r] for flagged rows r.

    source, out (rows or more, width), out in place; flags (rows,) uint8.
    Launch: any grid, blocks of a multiple of 32 threads; a warp copies whole rows.
    Deterministic: yes, exact.
    Source: ours.
    """
    for r in range(I64(cuda.grid(1)) // I64(32), I64(flags.size), I64(cuda.gridsize(1)) // I64(32)):
        if flags[U64(r)] != U8(0):
            for f in range(I64(cuda.laneid), I64(out.shape[1]), I64(32)):
                out[U64(r), U64(f)] = source[U64(r), U64(f)]


@kernel
def most_rated(starts, flags, most):
    """most[0] = max(most[0], number of ratings of any flagged row).

    starts (rows + 1 or more,) int64: first rating of each row; flags (rows,) uint8; most (1,) int64, in place.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for r in range(I64(cuda.grid(1)), I64(flags.size), I64(cuda.gridsize(1))):
        if flags[U64(r)] != U8(0):
            cuda.atomic.max(most, 0, I64(starts[U64(r + 1)] - starts[U64(r)]))


@kernel
def count_chunks(starts, flags, rate, gain, blind, longest, chunks):
    """chunks[r] = formulas.chunk_count of row r, at rate 0 if it is not flagged; 0 after the last row.

    starts (rows + 1 or more,) int64: first rating of each row; flags (rows,) uint8; rate, gain, blind float64, longest
    int64: see chunk_count; chunks (rows or more,) int64, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    rows = I64(flags.size)
    for r in range(I64(cuda.grid(1)), I64(chunks.size), I64(cuda.gridsize(1))):
        count = I64(0)
        if r < rows:
            count = I64(starts[U64(r + 1)] - starts[U64(r)])
        steps = rate if r < rows and flags[U64(r)] != U8(0) else 0.0
        chunks[U64(r)] = chunk_count(count, steps, gain, blind, longest)


@kernel
def add_parts(within, parts, out):
    """out[r] = within[r] + parts[r // share], with `share` elements in each part.

    within (parts * share,), parts (parts,) and out (any,) int64, out overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    share = U64(within.size) // U64(parts.size)
    for r in range(I64(cuda.grid(1)), I64(out.size), I64(cuda.gridsize(1))):
        out[U64(r)] = within[U64(r)] + parts[U64(r) // share]
