"""Chunk tables and conflict-free tables.

Every rating occurs once, without conflicts, as a function of the seed.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from factorization.inputs import ordered
from gpukit.factorization import cpu as chunking
from gpukit.factorization import cpu as steps
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.plan import packing_of
from gpukit.factorization.prepare import training_data
from gpukit.factorization.settings import Settings
from gpukit.factorization.solvers import rates
from gpukit.factorization.solvers.sgd import schedule, stream_training
from gpukit.factorization.solvers.sgd.schedule import balance_quads, chunk_table, cut_table, max_load, pieces_of
from gpukit.ratings import Ratings

COUNTS = {
    "one row": [17],
    "empty rows": [0, 3, 0, 0, 1000, 1, 0],
    "long tail": np.unique(np.geomspace(1, 30000, 40).astype(int))[::-1],
    "no ratings": [0, 0, 0],
}


def indptr_of(counts):
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def table_of(indptr, workers, rate, seed):
    return chunk_table(indptr, indptr, schedule.Pace(workers, rate), seed, chunking)


def covered(chunks, indptr):
    """Return the count of each rating in chunks.

    Each chunk must be within its row.
    """
    times = np.zeros(indptr[-1], int)
    for row, first, length in chunks:
        assert length == 0 or indptr[row] <= first and first + length <= indptr[row + 1]
        times[first : first + length] += 1
    return times


@pytest.mark.parametrize("workers", [1, 2, 300, 8448])
@pytest.mark.parametrize("name", COUNTS)
def test_every_rating_once(name, workers):
    indptr = indptr_of(COUNTS[name])
    chunks = table_of(indptr, workers, 0.15, seed=3)
    assert chunks.shape[1:] == (3,) and chunks.dtype == np.int64 and chunks.flags.c_contiguous
    assert (covered(chunks, indptr) == 1).all()
    assert len(chunks) % (4 * max(1, workers // 4)) == 0 and not chunks[chunks[:, 2] == 0].any()


def test_tables_are_a_function_of_the_seed():
    indptr = indptr_of(COUNTS["long tail"])
    one, same, other = (table_of(indptr, 300, 0.15, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any() and sorted(one.tolist()) == sorted(other.tolist())


@pytest.mark.parametrize("more", range(4))
def test_quads_of_about_equal_length(more):
    """The four chunks of a warp have similar lengths.

    Chunks of a row are far from each other.
    """
    chunks = table_of(indptr_of([*COUNTS["long tail"], *[1] * more]), 300, 0.15, seed=0)
    with np.errstate(divide="ignore"):
        classes = np.ceil(RULES.length_classes * np.log2(chunks[:, 2]))
    quads = np.sort(classes.reshape(-1, 4), axis=1)
    expected = np.sort(np.sort(classes)[::-1].reshape(-1, 4), axis=1)
    assert sorted(quads.tolist()) == sorted(expected.tolist())
    of_longest = np.flatnonzero(chunks[:, 0] == 0)
    assert len(of_longest) > 10 and np.ptp(of_longest) > len(chunks) // 2 and np.median(of_longest) < 0.8 * len(chunks)


def test_warps_have_equal_work_in_orders_of_their_own():
    """Within a hundred steps of 200,000; the lengths in a round differ."""
    counts = np.random.default_rng(0).zipf(1.3, 40000).clip(1, 3000)
    rounds = table_of(indptr_of(counts), 64, 0.15, seed=0)[:, 2].reshape(-1, 16, 4)
    work = rounds.max(axis=2).sum(axis=0)
    assert work.mean() > 200_000 and np.ptp(work) < 100
    assert len(rounds) > 100 and (np.ptp(rounds[:, :, 0], axis=1) > rounds.max() / 4).mean() > 0.9


@pytest.mark.parametrize(
    "workers, rate", [(1, 0.15), (2, 0.15), (256, 0.15), (8448, 0.15), (8448, 1.5), (300, "by row")]
)
def test_chunk_lengths_bound_the_stale_steps(workers, rate):
    """A row has about workers n / total concurrent chunks.

    n: its ratings of `total`. The concurrent steps are bounded.
    """
    counts = np.array([0, 1, 40, 1000, 20000, 10**6])
    rate = rates.row_rates("adaptive", 0.2, counts) if rate == "by row" else rate
    longest = schedule.chunk_lengths(counts, workers, rate)
    assert longest.min() >= RULES.shortest_chunk and longest.max() <= RULES.longest_chunk
    stale = (workers - 1) * counts / counts.sum() * longest * rate
    assert (stale[longest > RULES.shortest_chunk] <= schedule.STALENESS * 1.001).all()
    assert (np.diff(longest) <= 0).all()  # longer rows, shorter chunks
    assert (longest[(stale < schedule.STALENESS / 2) & (counts > 0)] == RULES.longest_chunk).all()
    chunks = table_of(indptr_of(counts[:-1]), workers, 0.15, seed=0)
    bound = schedule.chunk_lengths(counts[:-1], workers, 0.15)
    assert (chunks[:, 2] <= bound[chunks[:, 0]]).all()


def test_worker_count():
    """At least 1, at most the limit, and whole quads.

    The number increases with the ratings.
    """
    sizes = [0, 1, RULES.ratings_a_worker, 2 * RULES.ratings_a_worker, 11 * RULES.ratings_a_worker, 10**9]
    assert [schedule.worker_count(n, 66) for n in sizes] == [1, 1, 1, 2, 8, 64]
    assert schedule.worker_count(10**9, 3) == 3 and type(schedule.worker_count(np.int64(5000), 64)) is int


def test_workers_with_fixed_rows():
    """Bounded by the row with the most steps, and by given bounds.

    Chunks of that row are single ratings.
    """
    few, most = 8, 8448
    assert schedule.still_workers(10**6, np.array([]), (few, most)) == most
    assert schedule.still_workers(10**6, np.array([3.0, 400.0]), (few, most)) == int(1.6 * 10**6 / 400) // 4 * 4
    assert schedule.still_workers(10**6, np.array([10.0**6]), (few, most)) == few
    assert schedule.still_workers(200, np.array([0.1]), (1, most)) == 3
    lengths = schedule.chunk_lengths(np.array([5, 10**6]), 4000, np.array([0.0, 0.01]), (1, RULES.longest_chunk))
    assert lengths.tolist() == [RULES.longest_chunk, 1]


def test_fewer_workers_with_neighbourhoods():
    """Half as many up to a million ratings, equal from ten million.

    Interpolated between.
    """
    plain, near = ([schedule.worker_count(n, 10**5, near) for n in (10**6, 10**7, 10**8)] for near in (False, True))
    assert plain[0] == 2 * near[0] and plain[1:] == near[1:]
    middle = schedule.worker_count(3_000_000, 10**5, True)
    assert near[0] < middle < schedule.worker_count(3_000_000, 10**5) < near[1]


def test_block_count():
    """At least a grain of ratings per pair of blocks.

    Bounded by `most` and by the rows; at least one.
    """
    assert [schedule.block_count(n, (20, 999), 10, 16) for n in (0, 9, 39, 40, 2559, 2560, 10**9)] == [
        *(1, 1, 1, 2, 15, 16, 16)
    ]
    assert schedule.block_count(10**9, (999, 7), 10, 16) == schedule.block_count(10**9, (7, 999), 10, 16) == 7
    assert schedule.block_count(5000, (1000, 20), 10, 16) == 5


def test_blocks_are_even_and_a_function_of_the_seed():
    """Each deal gives every block one row, in random order.

    Rows of a turn have similar counts.
    """
    counts = np.array([1000, 1000, 1000, 1000, *range(96)])
    block, turn = schedule.deal_rows(counts, 4, seed=0)
    assert sorted(block[:4]) == [0, 1, 2, 3] and (np.bincount(block) == 25).all()
    assert sorted(zip(turn, block)) == [(t, b) for t in range(25) for b in range(4)]
    loads = np.bincount(block, counts)
    assert loads.max() < 1.05 * loads.min()
    longest = np.array([counts[turn == t].max() for t in range(25)])
    assert all(np.ptp(counts[turn == t]) <= 3 for t in range(25)) and (np.diff(longest) > 0).sum() in range(6, 19)
    np.testing.assert_array_equal((block, turn), schedule.deal_rows(counts, 4, seed=0))
    assert (block != schedule.deal_rows(counts, 4, seed=1)[0]).any()
    block, turn = schedule.deal_rows(counts[:10], 4, seed=0)
    assert len({*zip(turn, block)}) == 10 and turn.max() == 2
    assert sorted(counts[:10][turn == np.bincount(turn).argmin()]) == [0, 1]  # the last deal, of the fewest


def test_strata_take_turns():
    """All of them each epoch, in a random order that depends on the key."""
    orders = [schedule.order_tables(list("abcdefgh"), schedule.turn_key(0, epoch)) for epoch in range(40)]
    assert all(sorted(order) == list("abcdefgh") for order in orders)
    assert orders[3] == schedule.order_tables(list("abcdefgh"), schedule.turn_key(0, 3))
    assert len({"".join(order) for order in orders}) == 40 and len({order[0] for order in orders}) == 8
    assert schedule.order_tables(["one"], schedule.turn_key(0, 0)) == ["one"]


@pytest.mark.parametrize("shape, n_ratings", [((5, 4), 12), ((70, 90), 900), ((200, 66), 5000), ((2, 300), 400)])
@pytest.mark.parametrize("walk", ["users", "items"])
def test_strata(shape, n_ratings, walk, monkeypatch):
    """Every rating once an epoch; blocks of a stratum share no row.

    A block's ratings are contiguous.
    """
    monkeypatch.setattr(steps, "GRAIN", 20)
    rng = np.random.default_rng(1)
    pairs = rng.choice(shape[0] * shape[1], n_ratings, replace=False)
    rows = (pairs // shape[1]).astype(np.int32), (pairs % shape[1]).astype(np.int32)
    ratings = Ratings(*rows, rng.random(n_ratings, np.float32), *map(np.arange, shape))
    orders = ordered(ratings)
    side = training_data.side_of(
        orders, walk, training_data.scale_of(orders, ratings.values), 5, steps, deterministic=True
    )
    n_blocks, next_rating = len(side.strata), 0
    assert n_blocks == schedule.block_count(n_ratings, major_first(walk, *shape), 20, 16)
    assert sorted(side.where) == list(range(n_ratings))
    major = np.repeat(np.arange(len(side.indptr) - 1), np.diff(side.indptr))
    of_place = np.empty(n_ratings, int)
    of_place[side.where] = major
    for table in side.strata:
        owner = {}
        for block in range(n_blocks):
            for row, first, length in table[block::n_blocks].tolist():
                assert first == (next_rating if length else 0) and (of_place[first : first + length] == row).all()
                next_rating += length
                keys = {("major", row), *(("minor", other) for other in side.minor[first : first + length].tolist())}
                assert all(owner.setdefault(key, block) == block for key in keys if length)
    assert next_rating == n_ratings


def test_epochs_have_keys_of_their_own():
    assert len({int(schedule.turn_key(seed, epoch)) for seed in range(3) for epoch in range(50)}) == 150


@pytest.mark.parametrize("parts", [2, 4])
def test_parts_of_a_table_are_as_much_work_for_every_four_workers(parts):
    """All chunks once, with balanced work for four workers each.

    No workers are idle for long before the end of a part.
    """
    counts, heavy = np.random.default_rng(0).lognormal(3.0, 1.2, 3000).astype(np.int64), 7
    counts[heavy] = 4000
    starts, pace = np.append(0, np.cumsum(counts)), schedule.Pace(32, np.full(3000, 0.01))
    whole, apart = (cut_table(counts, starts, pace, 1, chunking, n) for n in (1, parts))
    for_each = [np.sort(table[table[:, 2] > 0].view("i8,i8,i8").ravel()) for table in (whole, apart)]
    np.testing.assert_array_equal(*for_each)
    for part in np.split(apart, parts):
        work = part.reshape(-1, 8, 4, 3)[..., 2].max(2).sum(0)  # of each four workers
        assert work.max() <= 1.05 * work.mean(), work
        mine = part[(part[:, 0] == heavy) & (part[:, 2] > 0)]
        assert len(mine) <= -(-len(whole[(whole[:, 0] == heavy) & (whole[:, 2] > 0)]) // parts) + 8, "they meet"


@pytest.mark.parametrize("rounds, fours", [(1, 1), (1, 7), (5, 1), (3, 40), (9, 116), (24, 5), (31, 5), (300, 2)])
def test_quads_are_dealt_out_evenly(rounds, fours):
    """Equal numbers for every four workers, each quad once.

    The maximum exceeds the mean by at most a median quad.
    """
    lengths = np.sort(np.random.default_rng(rounds).lognormal(4.0, 1.0, rounds * fours).astype(np.uint64))[::-1]
    for its in (lengths, 0 * lengths, np.full_like(lengths, 1024)):
        hands = balance_quads(its, rounds, fours)
        assert hands.shape == (rounds, fours) and sorted(hands.ravel()) == list(range(rounds * fours))
    work = lengths[balance_quads(lengths, rounds, fours)].sum(0)
    assert work.max() <= max(work.mean(), lengths[0]) + lengths[-1 - len(lengths) // 2], work


def test_rows_in_one_chunk():
    """Rows up to the limit are one chunk, longer ones several.

    Empty ones have none.
    """
    counts = np.array([0, 300, 1, 700, 701, 5000])
    starts, pace = indptr_of(counts), schedule.Pace(4, 0.15)
    cut, found = (cut_table(counts, starts, each, 1, chunking) for each in (pace, pace._replace(whole=700)))
    for row, its in enumerate(counts):
        own = found[(found[:, 0] == row) & (found[:, 2] > 0)]
        expected = (
            [[row, starts[row], its]] if 0 < its <= 700 else sorted(cut[(cut[:, 0] == row) & (cut[:, 2] > 0)].tolist())
        )
        assert sorted(own.tolist()) == expected
    assert schedule.whole_rows(30_000_000, 11_136, 4) == 673 and schedule.whole_rows(10**9, 2, 16) == schedule.WHOLE
    assert schedule.whole_rows(100, 40, 4) == 0


@pytest.mark.parametrize("its, each", [(600, 1), (900, 1.5), (450, 2), (350, 2.5), (300, 3)])
def test_rows_are_in_one_chunk_if_work_is_even(its, each):
    """Rows of one length are in one chunk if the quads divide evenly."""
    workers, parts, fours = 400, 4, 100
    counts, whole = np.full(int(4 * parts * fours * each), its), each == int(each)
    pace = schedule.Pace(workers, np.full(len(counts), 0.02), whole=1000)
    pieces = pieces_of(counts, pace, parts)
    assert (pieces == 1).all() if whole else (pieces > 1).all()
    assert max_load(counts, pieces, workers, parts) <= 1.1
    assert (max_load(counts, np.ones_like(counts), workers, parts) <= 1.1) == whole
    table = cut_table(counts, indptr_of(counts), pace, 1, chunking, parts)
    work = table.reshape(parts, -1, fours, 4, 3)[..., 2].max(3).sum(1)
    assert work.max() <= 1.1 * work.mean() and table[:, 2].sum() == counts.sum()


def test_an_epoch_has_its_own_rates_and_order():
    """It is complete when `epoch` returns."""
    done = []

    class Recorded(schedule.Epochs):
        def start(self, rates, turn):
            done.append((rates, turn))

        def finish(self):
            done.append("finished")

    plan = Settings(3, "sgd", "adaptive", 0.2, 0.04, 0.8, True, 0, 5, 8)
    Recorded(None, plan).epoch(2)
    assert done == [(plan.epoch_rates(2), schedule.turn_key(5, 2)), "finished"]


@pytest.mark.parametrize(
    "n, spare, is_slowed",
    [(3_000_000, 10**9, False), (3_000_000, 2_500_000, True), (30_000, 10**9, True), (300_000, 500_000, True)],
)
def test_blocks_have_several_chunks_of_each_worker(n, spare, is_slowed, monkeypatch):
    """Otherwise the short chunks of a row are concurrent, and SGD diverges."""
    monkeypatch.setattr(RULES, "chunk_rounds", 3)
    counts = np.random.default_rng(n).zipf(1.6, n // 150) % 3000
    counts = np.maximum(1, counts * (n / counts.sum())).astype(np.int64)
    given = schedule.Pace(512, np.full(len(counts), 0.05))
    training = SimpleNamespace(packing=packing_of(20_000, 5, True, 0, False), n_ratings=int(counts.sum()))
    pace, chunks, most = stream_training.StreamTraining.slowed(training, counts, given, spare)
    assert pace.workers % 4 == 0 and pace.workers < given.workers if is_slowed else pace.workers == given.workers
    assert most >= 8 and 1.1 * training.n_ratings / most * 14 + 48 * chunks <= 1.001 * spare  # 2 of 3 bytes, and 8
    starts = np.concatenate(([0], np.cumsum(counts)))
    parts = schedule.cut_table(counts, starts, pace, 0, chunking, most).reshape(most, -1, 3)
    held = (parts[:, :, 2] > 0).sum(1)
    assert held.min() >= 2.9 * pace.workers and held.sum() == chunks
