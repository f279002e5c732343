"""Schedules of up to 512 ranks, simulated without arithmetic by the solvers' own functions.

Every block is processed once an epoch, no two ranks use the same rows or columns at once, a rank has what it processes,
and the bytes sent are those of the cost model.
"""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from support import load_script

from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import gpu_layout
from gpukit.factorization.shared import gpu as copies
from gpukit.factorization.shared.partition import Lap, Strata, plan_moves, ring_parts, spans_of
from gpukit.factorization.shared.training import Training
from gpukit.imputation.distributed.share import CHUNKS, Share, equal_parts, part_of_rank
from gpukit.parallel.team import Team, pack, unpack
from gpukit.ranking.shared import SharedPairSums, queries_of_rank

plan = load_script("docs/scale.py")
MANY = pytest.param(150, marks=pytest.mark.slow), pytest.param(512, marks=pytest.mark.nightly)
RANKS = (2, 3, 8, 64, *MANY)
ITEM_ROWS = 4  # of each rank
LAYOUT = gpu_layout(32, 32)
OPTIONS = SimpleNamespace(seed=3)


def make_ring(ranks):
    """Return the Parts of generated counts for a ring."""
    counts = [np.random.default_rng(ranks).zipf(1.5, rows * ranks) for rows in (3, ITEM_ROWS)]
    return ring_parts(tuple(counts), ranks, OPTIONS)


class Recorder:
    """Pipeline of a rank that notes what it is asked for, in order."""

    def __init__(self, rank):
        self.rank, self.session, self.calls = rank, SimpleNamespace(workers=4), []

    def process(self, number, lap, blocks, rates, turn):
        self.calls.append(("process", number, tuple(blocks), lap.low))

    def send_blocks(self, moves):
        self.calls += [("send", m.block, m.target) for m in moves if m.source == self.rank]
        self.calls += [("receive", m.block, m.source) for m in moves if m.target == self.rank]

    def finish(self):
        pass


def recorded_epoch(schedule, rank, ranks, number, laps=()):
    """Return what the Training of a rank asks its pipeline for in an epoch."""
    settings = SimpleNamespace(seed=3, epoch_rates=lambda epoch: None)
    training = Training(settings, schedule, Recorder(rank), SimpleNamespace(rank=rank, size=ranks), laps)
    training.epoch(number)
    return training.pipeline.calls


def follow(schedule, epochs):
    """Check the moves of consecutive epochs; return each epoch's Counter of (rank, table, block) and its Moves."""
    holder, result = dict(schedule.steps(0)[0].block_ranks), []
    for epoch in range(epochs):
        steps = schedule.steps(epoch)
        processed, moves = Counter(), plan_moves(steps, schedule.steps(epoch + 1))
        for step, after in zip(steps, moves, strict=True):
            assert step.block_ranks.items() <= holder.items()  # a rank has the blocks that it processes
            processed.update((rank, step.tables[rank], block) for block, rank in step.block_ranks.items())
            for move in after:
                assert holder[move.block] == move.source != move.target
                holder[move.block] = move.target
        result.append((processed, [move for after in moves for move in after]))
    return result


@pytest.mark.parametrize("ranks", RANKS)
def test_blocks_of_a_ring_meet_each_rank_once_an_epoch(ranks):
    parts = make_ring(ranks)
    for step in parts.schedule.steps(0):
        assert sorted(step.block_ranks) == sorted(step.block_ranks.values()) == list(range(ranks))
        assert {block: rank for rank, block in step.tables.items()} == step.block_ranks
    width = LAYOUT.major.stride + 2 * LAYOUT.slots
    model = plan.factorization(plan.RatingSizes(100.0, 10.0, float(ITEM_ROWS * ranks)), 32, 32, ranks)
    for processed, moves in follow(parts.schedule, 2):
        assert processed == Counter({(rank, block, block): 1 for rank in range(ranks) for block in range(ranks)})
        sent = Counter()
        for move in moves:
            sent[move.source] += 4 * width * len(parts.rows(move.block))
        assert set(sent.values()) == {model.sent} and len(sent) == ranks


@pytest.mark.parametrize("ranks", RANKS)
def test_a_ring_divides_users_and_items(ranks):
    parts = make_ring(ranks)
    assert sorted(np.concatenate([parts.users_of(rank) for rank in range(ranks)])) == list(range(3 * ranks))
    assert [len(parts.rows(block)) for block in range(ranks)] == [ITEM_ROWS] * ranks


@pytest.mark.parametrize("ranks", [2, 5, 16])
def test_the_training_of_each_rank_follows_the_schedule(ranks):
    schedule = make_ring(ranks).schedule
    laps = [Lap(low / 8, (low + 1) / 8, 4) for low in range(8)]
    messages = Counter()
    for rank in range(ranks):
        calls = recorded_epoch(schedule, rank, ranks, 0, laps)
        held, seen = {rank}, []
        for what, number, other, *low in calls:
            if what == "process":
                assert {number} == set(other) <= held
                seen.append((number, *low))
            elif what == "send":
                held.remove(number)
                messages[number, rank, other] += 1
            else:
                held.add(number)
                messages[number, other, rank] -= 1
        assert sorted(seen) == [(block, lap.low) for block in range(ranks) for lap in laps]
        assert held == {rank} and len(calls) == 3 * 8 * ranks
    assert set(messages.values()) == {0}  # every message is received


@pytest.mark.parametrize("ranks", MANY)
def test_some_of_many_ranks_follow_the_schedule(ranks):
    schedule = make_ring(ranks).schedule
    for rank in (0, 1, ranks - 1):
        calls = recorded_epoch(schedule, rank, ranks, 1)
        order = [(rank + step) % ranks for step in range(ranks)]
        assert [number for what, number, *_ in calls if what == "process"] == order
        sent = [(number, other) for what, number, other, *_ in calls if what == "send"]
        assert sent == [(number, (rank - 1) % ranks) for number in order]


@pytest.mark.parametrize("by_users", [True, False])
@pytest.mark.parametrize(("ranks", "blocks"), [(2, 5), (3, 3), (8, 32), (128, 128)])
def test_strata_pair_all_blocks_once_and_share_none(ranks, blocks, by_users):
    owners = np.arange(blocks) * ranks // blocks
    schedule, pairs = Strata(tuple(map(int, owners)), by_users, 7), Counter()
    steps = schedule.steps(0)
    for step in steps:
        (stratum,) = set(step.tables.values())
        majors, minors = np.arange(blocks), (np.arange(blocks) + stratum) % blocks
        users, items = (majors, minors) if by_users else (minors, majors)
        assert [step.block_ranks[item] for item in items] == owners[users].tolist()  # each rank has its users
        assert sorted(step.block_ranks) == list(range(blocks))
        pairs.update(zip(users.tolist(), items.tolist(), strict=True))
    assert set(pairs.values()) == {1} and len(pairs) == blocks**2
    follow(schedule, 1 if blocks > 100 else 3)


class RecordedCopies(copies.CopiedRows):
    """gpu.CopiedRows that notes the order of parts, waits and exchanges."""

    def __init__(self, table, workers, n_exchanges):
        self.session, self.n_exchanges = SimpleNamespace(tables=[table], workers=workers), n_exchanges
        self.epoch_stream, self.transfer_stream, self.synchronized, self.log = "epoch", "transfer", True, []
        self.all, self.popular = (self.exchange_of(name) for name in ("all", "popular"))

    def exchange_of(self, name):
        return SimpleNamespace(run=lambda: self.log.append(name))

    def process_table(self, table, workers, rates, turn):
        self.log.append(table)

    def damp(self, epoch, part):
        pass


@pytest.mark.parametrize("ranks", [2, 8, 64, 512])
@pytest.mark.parametrize("epoch", [0, 1])
def test_copies_are_exchanged_as_the_model_counts(ranks, epoch, monkeypatch):
    sizes = plan.RatingSizes(1e9, 2e7, 80_000.0)
    layout = gpu_layout(32, 0, True)
    (sent, whole), (few, popular) = (
        plan.exchange_cost(sizes.items / n, layout, ranks) for n in (1, RULES.popular_part)
    )
    workers = copies.epoch_threads(layout) // layout.lanes * (plan.PROCESSORS - plan.FREE)
    mean = (whole + popular * (RULES.whole_exchange - 1)) / RULES.whole_exchange
    counts = copies.exchange_counts(sizes.ratings / (ranks * copies.PARTS * workers), 1e3 * mean)
    table = np.arange(3 * 4 * 101).reshape(-1, 3)
    session = RecordedCopies(table, workers, counts)

    def record_event(stream):
        number = len(session.log)
        session.log.append(("event", stream))
        return SimpleNamespace(wait=lambda waiting: session.log.append(("wait", waiting, number)))

    monkeypatch.setattr(copies, "record_event", record_event)
    session.process(workers, None, None, epoch)
    assert np.array_equal(np.concatenate([entry for entry in session.log if isinstance(entry, np.ndarray)]), table)
    log = ["part" if isinstance(entry, np.ndarray) else entry for entry in session.log]
    assert log[-1] == "all" and log.count("part") == copies.PARTS
    done = [i for i, entry in enumerate(log) if entry == ("event", "transfer")]  # after a part's exchanges
    starts = [i for i, entry in enumerate(log) if entry == "part"]
    for part in range(2, copies.PARTS):
        assert ("wait", "epoch", done[part - 2]) in log[: starts[part]]
    exchanges = Counter(entry for entry in log if isinstance(entry, str))
    assert exchanges["all"] + exchanges["popular"] == copies.PARTS * counts[min(epoch, 1)] + 1
    if epoch:
        model = plan.factorization(sizes, 32, 0, ranks).sent
        assert exchanges["all"] * sent + exchanges["popular"] * few == pytest.approx(model, rel=1e-12)


class Postbox:
    """Transport that keeps copies of what a rank sends, and the shapes that it expects."""

    def __init__(self):
        self.sent, self.expected = [], []

    def alltoall(self, parts, out, stream):
        self.sent.append({rank: np.array(part) for rank, part in parts.items()})
        self.expected.append({rank: part.shape for rank, part in out.items()})

    def wait(self, stream):
        pass


class NumberedShare(Share):
    """Share of a rank whose products are numbers of entries: of a slice and of a column."""

    xp, journeys, waits = np, None, ()

    def __init__(self, rank, ranks, parts):
        self.width, self.lines = int(parts.columns[-1]), Postbox()
        team = SimpleNamespace(rank=rank, size=ranks)
        numbers = np.arange(int(parts.slices[-1]), dtype=np.float32)[None]
        self.join(SimpleNamespace(team=team, lines=self.lines), parts, numbers, None, np.float32)
        self.added = []

    def product(self, a, b, out, add=False):
        if a.shape[1] == 1:  # forward: slices by own columns
            out[...] = self.width * a + b
        else:
            self.added.append((tuple(a[0].astype(int)), b.shape))

    def mark(self):
        return None

    def for_transport(self, array):
        return array


@pytest.mark.parametrize("ranks", RANKS)
def test_slices_and_columns_of_the_imputation_are_exchanged_once(ranks):
    slices = plan.Slices(100, 8 * ranks, 2, ranks, 0.2)
    parts = equal_parts(slices.numbers, slices.vectors, ranks)
    entries = np.arange(slices.vectors * slices.numbers, dtype=np.float32).reshape(slices.vectors, -1)
    shares = {rank: NumberedShare(rank, ranks, parts) for rank in range(0, ranks, max(1, ranks // 64))}
    for rank, share in shares.items():
        columns, rows = (part_of_rank(edges, rank) for edges in parts)
        out = np.full((rows.stop - rows.start, slices.numbers), -1.0, np.float32)
        share.forward(share.vectors, np.arange(slices.numbers, dtype=np.float32)[None, columns], None, out)
        assert np.array_equal(out[:, columns], entries[rows, columns])
        share.U, share.Z = share.vectors.repeat(2, axis=0), entries[rows]
        share.backward(np.empty((2, columns.stop - columns.start), np.float32))
        assert sorted(sum((numbers for numbers, _ in share.added), ())) == list(range(slices.vectors))
        sent = sum(part.nbytes for parcel in share.lines.sent for part in parcel.values())
        assert sent == plan.imputation(slices, ranks).sent
    for rank in shares:
        check_messages(rank, shares, parts, entries)


def check_messages(rank, shares, parts, entries):
    """Check that a rank sends each other one what it expects, in each chunk: slices there, then columns back."""
    assert len(shares[rank].lines.sent) == 2 * CHUNKS
    for number, parcel in enumerate(shares[rank].lines.sent):
        assert sorted(parcel) == [other for other in range(len(parts.slices) - 1) if other != rank]
        for other, content in parcel.items():
            rows, columns = (other, rank) if number < CHUNKS else (rank, other)
            whole = entries[part_of_rank(parts.slices, rows), part_of_rank(parts.columns, columns)]
            step = len(whole) // CHUNKS  # eight slices a rank
            first = number % CHUNKS * step
            assert np.array_equal(content, whole[first : first + step])
            if other in shares:
                assert content.shape == shares[other].lines.expected[number][rank]


class Letters:
    """Messages of rank 0, whose other ranks answer with zeros."""

    rank = 0

    def __init__(self, size, answer):
        self.size, self.answer, self.sent, self.received = size, answer, [], []

    def send(self, rank, data):
        self.sent.append((rank, unpack(data).nbytes))

    def receive(self, rank):
        self.received.append(rank)
        return pack(self.answer)


@pytest.mark.parametrize("ranks", [2, 8, 512])
def test_queries_are_on_one_rank_and_a_product_is_two_messages_a_rank(ranks):
    features = 136
    offsets = np.append(0, np.cumsum(np.random.default_rng(ranks).integers(1, 200, 9_000)))
    parts = [queries_of_rank(offsets, rank, ranks) for rank in range(ranks)]
    assert [first for first, _ in parts[1:]] == [last for _, last in parts[:-1]]
    assert (parts[0][0], parts[-1][1]) == (0, 9_000)
    assert max(offsets[last] - offsets[first] for first, last in parts) < 1.1 * offsets[-1] / ranks + 400
    letters = Letters(ranks, np.zeros(features + 1))
    SharedPairSums(None, features, Team(letters)).walk(np.zeros(features), 0.0)
    assert [rank for rank, _ in letters.sent] == letters.received == list(range(1, ranks))
    assert sum(size for _, size in letters.sent) == plan.ranking(1e6, features, 5, ranks).sent


@pytest.mark.parametrize("ranks", [2, 8, 512])
def test_least_squares_divides_rows(ranks):
    counts = np.random.default_rng(ranks).zipf(1.5, 40 * ranks).clip(0, 10_000)
    spans = spans_of(counts, 32, ranks)
    assert [span[0] for span in spans] == [0, *(last for _, last in spans[:-1])] and spans[-1][1] == len(counts)
