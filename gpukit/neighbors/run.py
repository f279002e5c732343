"""Host steps of the hashes and searches, for both devices; steps: the module cpu.py or gpu.py.

**The exact search** (the paper's Table 1 and Definition 3.1), a stripe of rows at a time.

    S_jk = n / (n + 100) * rho_jk        rho: Pearson's correlation over the n users that rated both j and k

The key of a pair is 2**31 (1 - S) rounded down; the score is S, and a pair with S <= 0 is not a pair of neighbours.
Ratings become whole numbers first (`whole_numbers`), so that all sums are integers and equal on every device; only the
final formula is in float64. The measure of clicks is a damped cosine: c_j and c_k users clicked an item, c_jk of them
both.

    S_jk = c_jk / (sqrt(c_j c_k) + 10)

O(sum over users of the square of their ratings) additions. A query lists only the items that share a user with it, and
the selection reads these lists. Memory is O(N) per thread or, on a GPU, a tile of shared memory, and a stripe of lists.
A block processes a whole query with few pairs by a hash table, and otherwise a tile of items: such a query takes
N / tile blocks.
"""

import math
from typing import NamedTuple

import numpy as np

from gpukit.neighbors.formulas import SQUARE_BITS
from gpukit.neighbors.plan import CARDS, Lists, cut_runs, stripe_rows, whole_multiples
from gpukit.normals import bits
from gpukit.random import key
from gpukit.streams import Keyed

CHUNK = 4095  # most ratings of a unit, which 12 counter slices of simLSH can count
WEIGHT_LIMIT = 1 << 31
SLICES = 8  # kernels are compiled for sums of this number of bits and its multiples


def level_weights(values, psi):
    """Return Psi(r) = r**psi of each level as int64 weights; a common factor changes no sign in Eq. (3).

    Exact for ratings that are multiples of 2**-8 while the weights stay below 2**31; else rounded to 2**20 steps.
    """
    rounded_weight = 1 << 20
    whole = whole_multiples(values)
    if whole is not None and np.abs(whole**psi).max() < WEIGHT_LIMIT:
        return (whole**psi).astype(np.int64)
    weights = np.asarray(values, np.float64) ** psi
    return np.rint(weights / np.abs(weights).max() * rounded_weight).astype(np.int64)


def work_units(indptr, chunk=CHUNK):
    """Divide columns into units of at most `chunk` ratings, longest first.

    Returns units (U, 4) int64 rows (item, begin, end, slot), an empty column being one empty unit; joins (J, 3) int64
    rows (item, first slot, last slot + 1) of the divided columns; and the number of slots. Whole columns have slot -1.
    """
    units, pieces, first_unit = cut_columns(indptr, np.maximum(-(-np.diff(indptr) // chunk), 1))
    is_cut = pieces[units[:, 0]] > 1
    units[:, 3] = np.where(is_cut, np.cumsum(is_cut) - 1, -1)
    many = np.flatnonzero(pieces > 1)
    first_slot = units[first_unit[many], 3]
    joins = np.stack([many, first_slot, first_slot + pieces[many]], axis=1).astype(np.int64)
    shorter = (units[:, 1] - units[:, 2]).astype(np.int16)  # which numpy sorts by counting
    return units.take(np.argsort(shorter, kind="stable"), axis=0), joins, int(is_cut.sum())


def sum_units(indptr, chunk=CHUNK):
    """Return work_units of sums that are added to stored ones.

    units (U, 4): one or more of every nonempty column, unit u with slot u; joins (J, 3) of these columns.
    """
    units, pieces, first_unit = cut_columns(indptr, -(-np.diff(indptr) // chunk))
    units[:, 3] = np.arange(len(units))
    joins = np.stack([np.arange(len(pieces)), first_unit, first_unit + pieces], axis=1).astype(np.int64)
    return units, joins[pieces > 0]


class Adder:
    """The sums of Eq. (3) in parts, which may come from several processes (gpukit.neighbors.shared).

    steps: cpu or gpu; columns: Columns; weights (L,) int64 of levels; bits: of the largest possible sum; codes
    (N, n_words) uint32, filled by `join`, None: new ones; unit_bytes: bytes of a unit's sums.
    """

    def __init__(self, steps, columns, weights, bits, settings, codes=None):
        self.steps, self.settings, self.slices = steps, settings, -(-bits // steps.SLICES) * steps.SLICES
        arrays = weights, word_keys(settings.seed, settings.n_words)
        self.ratings = columns.users, columns.levels, *(steps.resident(array, array.dtype) for array in arrays)
        shape = len(columns.indptr) - 1, settings.n_words
        self.codes = steps.zeros(shape, np.uint32) if codes is None else codes
        self.unit_bytes = 4 * self.slices * settings.n_words

    def add_up(self, units, slots):
        """Return (partials (slots, slices, n_words) uint32, totals (slots,) int64) of units (U, 4) on the host.

        Unused slots are zero; there is at least one slot.
        """
        partials = self.steps.zeros((max(slots, 1), self.slices, self.settings.n_words), np.uint32)
        totals, units = self.steps.zeros(max(slots, 1), np.int64), self.steps.resident(units, np.int64)
        self.steps.hash_columns(*self.ratings, units, self.settings.n_bits, self.codes, partials, totals)
        return partials, totals

    def join(self, joins, partials, totals):
        """Compute the codes of items whose units are complete: joins (J, 3) on the host."""
        if len(joins):
            joins = self.steps.resident(joins, np.int64)
            self.steps.join_chunks(joins, self.settings.n_bits, partials, totals, self.codes)


def add_columns(steps, columns, weights, settings, sums, chunk=CHUNK):
    """Add Columns to stored Sums; weights (L,) int64 of their levels, where a negative one removes a rating."""
    units, joins = sum_units(columns.indptr, chunk)
    if len(units):
        adder = Adder(steps, columns, weights, sums.sums.shape[1], settings, sums.codes)
        (partials, totals), joins = adder.add_up(units, len(units)), steps.resident(joins, np.int64)
        steps.add_chunks(joins, settings.n_bits, partials, totals, sums.whole, sums.sums, sums.codes)
        steps.add_totals(joins, totals, sums.whole)


def simlsh_codes(steps, columns, settings, chunk=CHUNK):
    """Return codes (N, n_words) uint32 of the items of a Columns: Eq. (3) for all p * q hashings.

    indptr and values of the Columns are on the host.
    """
    weights = level_weights(columns.values, settings.psi)
    units, joins, n_slots = work_units(columns.indptr, chunk)
    adder = Adder(steps, columns, weights, sum_slices(columns.indptr, weights), settings)
    adder.join(joins, *adder.add_up(units, n_slots))
    return adder.codes


def cut_columns(indptr, pieces):
    """Divide columns into the given numbers of pieces of about equal length.

    Returns units (U, 4) int64, column by column, without slots; pieces (N,); and the first unit of each column (N,).
    """
    first_unit = np.cumsum(pieces) - pieces
    item = np.repeat(np.arange(len(pieces)), pieces)
    units = np.empty((len(item), 4), np.int64)
    units[:, 0], units[:, 1], units[:, 2] = item, indptr[item], indptr[item + 1]
    indices = np.flatnonzero(pieces[item] > 1)  # few, if any
    if len(indices):
        whole, begin = item[indices], units[indices, 1]
        length, count, part = units[indices, 2] - begin, pieces[whole], indices - first_unit[whole]
        units[indices, 1], units[indices, 2] = begin + part * length // count, begin + (part + 1) * length // count
    return units, pieces, first_unit


class Sums(NamedTuple):
    """The data that Algorithm 4 stores of N items.

    sums (N, slices, W) uint32, bit-sliced; whole (N,) int64: the sum of |weight| of each; codes (N, W) uint32: the
    signs of Eq. (3).
    """

    sums: object
    whole: object
    codes: object


def whole_slices(bits):
    """Return the number of slices of stored sums of this number of bits."""
    return -(-bits // SLICES) * SLICES


def word_keys(seed, n_words):
    """Return the random key of each word of the users' codes H_i, (n_words,) uint32."""
    return np.array([key(seed, Keyed.SIMLSH_WORDS[word]) for word in range(n_words)], np.uint32)


def sum_slices(indptr, weights):
    """Return the number of bits of the largest possible sum of |weights| over a column, at least 1."""
    longest = int(np.diff(indptr).max(initial=0))
    return max(1, (longest * int(np.abs(weights).max(initial=0))).bit_length())


def hashing_keys(seed, count):
    """Return the random key of each hashing, (count,) uint32."""
    return bits(np.uint32(key(seed, Keyed.MINHASH[0])), count)


def direction_keys(seed, n_bits):
    """Return the random key of the direction of each bit, (n_bits,) uint32."""
    return bits(np.uint32(key(seed, Keyed.PROJECTION[0])), n_bits)


def minhash_codes(steps, columns, settings):
    """Return codes (N, n_words) uint32 of a Columns: p * q minwise hashings of G bits; steps: cpu or gpu."""
    codes = steps.empty((len(columns.indptr) - 1, settings.n_words), np.uint32)
    keys = hashing_keys(settings.seed, settings.p * settings.q)
    arrays = steps.resident(columns.indptr, columns.indptr.dtype), columns.users, steps.resident(keys, keys.dtype)
    steps.hash_minwise(*arrays, settings.n_bits, codes)
    return codes


def projection_codes(steps, columns, settings, chunk=CHUNK):
    """Return codes (N, n_words) uint32 of a Columns: signs of p * q * G projections; steps: cpu or gpu."""
    weights, keys = level_weights(columns.values, 1), direction_keys(settings.seed, settings.n_bits)
    units, joins, n_slots = work_units(columns.indptr, chunk)
    codes = steps.empty((len(columns.indptr) - 1, settings.n_words), np.uint32)
    partials = steps.empty((n_slots, settings.n_bits), np.int64)
    device_arrays = (steps.resident(array, array.dtype) for array in (weights, keys, units))
    steps.project_columns(columns.users, columns.levels, *device_arrays, codes, partials)
    if len(joins):
        steps.join_parts(steps.resident(joins, joins.dtype), partials, codes)
    return codes


CODES = {"simlsh": simlsh_codes, "minhash": minhash_codes, "projection": projection_codes}


def hash_codes(steps, columns, settings):
    """Return codes (N, n_words) uint32 of the items of a Columns by settings.hash; steps: cpu or gpu.

    indptr and values of the Columns are on the host, users and levels on the device.
    """
    return CODES[settings.hash](steps, columns, settings)


def search(steps, items, settings, rows=None):
    """Return the Lists of Items, those of `rows` (first, last + 1) or all; steps: search.cpu or search.gpu."""
    n_items = items.rated.size
    lists = empty_lists(steps, n_items, settings.n_neighbors)
    if CARDS[settings.search].worst(settings):
        search_rows(steps, items, settings, [rows or (0, n_items)], lists)
    else:
        nothing = tuple(steps.zeros((n_items, settings.n_neighbors), dtype) for dtype in (np.int32, np.uint32))
        steps.fill_slots(nothing, 0, 0, settings.seed, lists)
    return lists


def empty_lists(steps, n_items, n_neighbors):
    """Return uninitialized Lists; steps: see search."""
    lists = (steps.empty((n_items, n_neighbors), dtype) for dtype in (np.int32, np.float32))
    return Lists(*lists, steps.empty(n_items, np.int32))


def search_rows(steps, items, settings, runs, lists):
    """Fill the Lists of all items for the query rows first to last (exclusive) of each run; steps: see search."""
    card = CARDS[settings.search]
    if card.is_sparse:
        numbers = whole_numbers(items.columns.values, int(np.diff(items.columns.indptr).max()))
        selections = steps.select_pairs(items.columns, numbers, settings.n_neighbors, runs)
    else:
        selections = select_keys(steps, items, settings, runs)
    for first, selected in selections:
        steps.fill_slots(selected, first, card.worst(settings), settings.seed, lists)


def select_keys(steps, items, settings, runs):
    """Yield selections as select_pairs does, from the keys of stripes of query rows."""
    n_items, worst = items.rated.size, CARDS[settings.search].worst(settings)
    stripes, rows_together = steps.STRIPES[settings.search]
    stripe, rows = stripes(items, settings), stripe_rows(n_items, steps.stripe_bytes(n_items), rows_together())
    buffer = steps.empty((min(rows, max(last - first for first, last in runs)), n_items), np.uint32)
    for first, last in cut_runs(runs, rows):
        keys = buffer[: last - first]
        stripe(first, keys)
        yield first, steps.smallest(keys, settings.n_neighbors, worst)


def most_steps(longest):
    """Return the finest scale for which the sums over `longest` users fit a word of formulas.py."""
    count_bits = 28  # of a word, for the plain sum or the count
    most_steps = 1023  # of a scale: the 32-bit sums of two users (formulas.packing)
    longest = max(longest, 1)
    square = math.isqrt(((1 << SQUARE_BITS) - 1) // longest)
    return min(most_steps, square, ((1 << count_bits) - 1) // longest)


def whole_numbers(values, longest):
    """Return the ascending levels (L,) as whole numbers (L,) uint32 from 0.

    Correlations are invariant to shift and scale. Exact if the levels are multiples of a common step (2**-8 or more)
    and span at most most_steps(longest) of it; otherwise the nearest of most_steps(longest) equal steps. longest: the
    most ratings of an item.
    """
    values, most = np.asarray(values, np.float64), most_steps(longest)
    whole = whole_multiples(values)
    if whole is not None and np.abs(whole).max() < 2.0**53:
        steps = (whole - whole[0]).astype(np.int64)
        steps //= max(1, int(np.gcd.reduce(steps)))
        if steps[-1] <= most:
            return steps.astype(np.uint32)
    span = (values[-1] - values[0]) or 1.0
    return np.rint((values - values[0]) / span * most).astype(np.uint32)


def stripes(pairs, runs, n_neighbors, most):
    """Yield (first row, begins (B + 1,) int64) of stripes of query rows, at least one row each.

    Row b of a stripe lists at most begins[b + 1] - begins[b] items. A stripe has about `most` of these and of its
    results. pairs (N,): the work of each row; runs: [(first, last + 1)].
    """
    capacity = np.minimum(pairs, len(pairs))
    whole = np.append(0, np.cumsum(capacity + n_neighbors))
    for first, last in runs:
        while first < last:
            stop = int(np.searchsorted(whole, whole[first] + most, "right")) - 1
            stop = min(max(stop, first + 1), last)
            yield first, np.append(0, np.cumsum(capacity[first:stop]))
            first = stop


def chunk_edges(begins, n_items):
    """Return the first rows (C,) of chunks of a stripe, and its end, for threads.

    A chunk clears n_items sums, so it lists half as many items or has one row. There are about 64 or fewer.
    """
    chunks = 64  # several for each thread
    marks = np.arange(0, begins[-1], max(1, n_items // 2, begins[-1] // chunks))
    return np.unique(np.append(np.searchsorted(begins, marks), len(begins) - 1))
