"""CPU twins of kernels.py, with the same names and order of arguments."""

import numpy as np

from gpukit._jit import copy_row, njit
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA, SQUARES
from gpukit.factorization.prepare.formulas import ASIDE, KNOWN, chunk_count, field, first_factor
from gpukit.primitives.search import lower_bound, upper_bound
from gpukit.scheduler import by_block

U8, U32, U64, I64 = np.uint8, np.uint32, np.uint64, np.int64
PARTS = 16  # of the ratings, processed concurrently
TILE = 1 << 14


@njit
def mark_new(rows, first, seen):
    """Twin of kernels.mark_new; one thread, because starting others takes longer than a million rows.

    Without a branch: for old and new rows in random order, mispredictions would take ten times as long as the rest.
    """
    for t in range(rows.size):
        place = np.int64(rows[t]) - first + 1
        is_wrong = (rows[t] < 0) | (place >= seen.size)
        seen[max(place, 0) * (1 - is_wrong)] |= U8((place > 0) | is_wrong)


@njit
def rename_new(rows, first, names, renamed):
    """Twin of kernels.rename_new."""
    for t in range(rows.size):
        renamed[t] = names[rows[t] - first] if rows[t] >= first else rows[t]


@by_block(lambda firsts: firsts.size)
def _find_levels(start, stop, values, levels, codes, firsts):
    """Write the codes of all parts; firsts[part]: position of its first value that is not a level."""
    for part in range(start, stop):
        for t in range(values.size * part // PARTS, values.size * (part + 1) // PARTS):
            position = lower_bound(levels, values[t], 0, levels.size)
            is_level = position < levels.size and levels[min(position, levels.size - 1)] == values[t]
            codes[t] = position if is_level else 0
            if not is_level:
                firsts[part] = min(firsts[part], t)


def find_levels(values, levels, codes, missing):
    """Twin of kernels.find_levels."""
    firsts = np.full(PARTS, values.size)
    _find_levels(values, levels, codes, firsts)
    missing[0] = min(missing[0], firsts.min())


@by_block(lambda counts: counts.size)
def _find_pairs(start, stop, keys, fields, history, positions, marked, counts):
    """Write the places and marks of all parts; counts[part]: number of its pairs in the history."""
    (user_shift, item_shift, item_width, level_width), codes = fields, history.codes
    last, items = history.indptr.size - 2, history.items
    for part in range(start, stop):
        counts[part] = 0
        for k in range(keys.size * part // PARTS, keys.size * (part + 1) // PARTS):
            user, item = min(I64(keys[k] >> U64(user_shift)), last), I64(field(keys[k], item_shift, item_width))
            end = history.indptr[user + 1]
            place = lower_bound(items, item, history.indptr[user], end)
            positions[k], mark = place, U64(0)
            if place < end and items[place] == item:
                mark = ASIDE if codes[place] == field(keys[k], 0, level_width) + U64(1) else KNOWN
                counts[part] += 1
            marked[k] = keys[k] | mark


def find_pairs(keys, user_shift, item_shift, item_width, level_width, history, positions, marked, known):
    """Twin of kernels.find_pairs."""
    counts = np.empty(PARTS, np.int64)
    _find_pairs(keys, (user_shift, item_shift, item_width, level_width), history, positions, marked, counts)
    known[0] += counts.sum()


@by_block(lambda keys: keys.size)
def correct_codes(start, stop, keys, positions, level_width, codes, before):
    """Twin of kernels.correct_codes."""
    mask = (U64(1) << U64(level_width)) - U64(1)
    for i in range(stop - start):
        k = start + i
        key = keys[k] & ~(ASIDE | KNOWN)
        before[k] = (key & ~mask) | U64(codes[positions[k]] - 1)
        codes[positions[k]] = U8((key & mask) + U64(1))


@by_block(lambda items: -(-items.size // TILE))
def _insert_old(start, stop, items, codes, keys, positions, all_items, all_codes):
    """Copy old ratings; each tile looks up its first new rating once."""
    for tile in range(start, stop):
        first, last = tile * TILE, min((tile + 1) * TILE, items.size)
        before = upper_bound(positions, U32(first), 0, keys.size)
        for t in range(first, last):
            while before < keys.size and positions[before] <= t:
                before += 1
            all_items[t + before], all_codes[t + before] = items[t], codes[t]


@by_block(lambda keys: keys.size)
def _insert_new(start, stop, keys, positions, item_shift, item_width, level_width, all_items, all_codes):
    """Copy new ratings."""
    for i in range(stop - start):
        k = start + i
        all_items[I64(positions[k]) + k] = field(keys[k], item_shift, item_width)
        all_codes[I64(positions[k]) + k] = U8(field(keys[k], 0, level_width) + U64(1))


def insert_records(items, codes, keys, positions, item_shift, item_width, level_width, all_items, all_codes):
    """Twin of kernels.insert_records."""
    _insert_old(items, codes, keys, positions, all_items, all_codes)
    _insert_new(keys, positions, item_shift, item_width, level_width, all_items, all_codes)


def add_starts(before, added, out):
    """Twin of kernels.add_starts."""
    out[:] = before[np.minimum(np.arange(out.size), before.size - 1)] + added


def flag_rows(before, added, fresh, rated):
    """Twin of kernels.flag_rows."""
    had = np.diff(before[np.minimum(np.arange(fresh.size + 1), before.size - 1)]) > 0
    has = np.diff(added[: fresh.size + 1]) > 0
    fresh[:], rated[:] = has & ~had, has | had


@by_block(lambda keys: keys.size)
def mark_fixed(start, stop, keys, user_shift, item_shift, item_width, users, items, marked):
    """Twin of kernels.mark_fixed."""
    for i in range(stop - start):
        k = start + i
        moves = users[keys[k] >> U64(user_shift)] or items[field(keys[k], item_shift, item_width)]
        marked[k] = keys[k] if moves else keys[k] | ASIDE


def read_base(table, base):
    """Twin of kernels.read_base."""
    base[:] = table[: base.size, table.shape[1] - EXTRA + BASE]


@by_block(lambda flags: flags.size)
def fresh_means(start, stop, starts, others, codes, z, other_bias, damping, flags, bias):
    """Twin of kernels.fresh_means."""
    for row in range(start, stop):
        if flags[row]:
            total = 0.0
            for t in range(starts[row], starts[row + 1]):
                total += np.float64(z[codes[t]]) - other_bias[others[t]]
            bias[row] = total / (starts[row + 1] - starts[row] + damping)


@njit
def begin_row(first, row, out):
    """Twin of kernels.begin_row."""
    row_base = np.float32(first.base[row])
    out[:] = 0
    for f in range(first.n_factors if row_base != 0 else 0):
        out[f] = first_factor(first.seed_key, U64(row * first.n_factors + f))
    out[out.size - EXTRA + BASE] = row_base
    out[out.size - EXTRA + BIAS] = row_base if first.biased else np.float32(0)


@by_block(lambda flags: flags.size + 1)
def begin_rows(start, stop, table, flags, starts, first, fixed_squares, work):
    """Twin of kernels.begin_rows."""
    squares = table.shape[1] - EXTRA + SQUARES
    for r in range(start, stop):
        if r == flags.size:
            work[r] = 0
        elif flags[r]:
            begin_row(first, r, work[r])
            work[r, squares] = starts[r + 1] - starts[r]
        else:
            copy_row(table[r], work[r])
            work[r, squares] = fixed_squares


def take_flagged(source, flags, out):
    """Twin of kernels.take_flagged."""
    rows = np.flatnonzero(flags)
    out[rows] = source[rows]


def most_rated(starts, flags, most):
    """Twin of kernels.most_rated."""
    most[0] = max(most[0], np.diff(starts[: flags.size + 1]).max(where=flags != 0, initial=0))


@by_block(lambda chunks: chunks.size)
def count_chunks(start, stop, starts, flags, rate, gain, blind, longest, chunks):
    """Twin of kernels.count_chunks."""
    for k in range(stop - start):
        r = start + k
        count = starts[r + 1] - starts[r] if r < flags.size else 0
        steps = rate if r < flags.size and flags[r] else 0.0
        chunks[r] = chunk_count(count, steps, gain, blind, longest)


def add_parts(within, parts, out):
    """Twin of kernels.add_parts."""
    out[:] = (within + np.repeat(parts, within.size // parts.size))[: out.size]
