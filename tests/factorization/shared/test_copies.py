"""Ranks with copies of rows that exchange changes: kernels against twins and plain sums."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytestmark = pytest.mark.kernel

from parallel.test_team import together
from support import launch

from factorization.shared.data import of_halves, table_of
from factorization.shared.walks import count_chunks
from gpukit import _driver
from gpukit._cuda import cuda
from gpukit._driver import copy_in
from gpukit.factorization import MatrixFactorization
from gpukit.factorization.arrays import Parameters
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import EXTRA, SQUARES, Layout, Rows
from gpukit.factorization.settings import check
from gpukit.factorization.shared import cpu, gpu, kernels, twins
from gpukit.factorization.shared.partition import Parts
from gpukit.parallel.team import HostTransport

SHAPES = [(1, 4), (5, 12), (33, 32)]  # rows, factors


def changes_of(rows, factors, seed):
    """Changes of a rank, in eighths."""
    return np.random.default_rng(seed).integers(-64, 64, (rows, factors + 4)).astype(np.float32) / 8


def numbers_of(table, factors, half):
    """Return the exchanged numbers of a table, (rows, F + 4)."""
    first = table.shape[1] - EXTRA
    stored = np.ascontiguousarray(table[:, :first])
    values = stored.view(np.float16).astype(np.float32) if half else stored
    return np.hstack((values[:, :factors], table[:, first : first + 4]))


def in_places(rows, more=3):
    """Return distinct positions of rows among `more` others, (n,) int32."""
    return np.random.default_rng(9).permutation(rows + more)[:rows].astype(np.int32)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("rows, factors", SHAPES)
def test_take_changes(rows, factors, half):
    """Rows at any position, and only the first few."""
    (table, plain), places = table_of(rows + 3, factors, half), in_places(rows)
    common = changes_of(rows, factors, 1)
    expected = numbers_of(table, factors, half)[places] - common
    for n in (rows, -(-rows // 2)):
        found, by_twin = (np.full((n, factors + 4), 77, np.float32) for _ in range(2))
        launch(kernels.make_take_changes(half), 3, 64, table, places, common, found)
        twins.take_changes(plain, places, common, by_twin)
        np.testing.assert_array_equal(found, expected[:n])
        np.testing.assert_array_equal(by_twin, found)


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("rows, factors", SHAPES)
def test_add_changes(rows, factors, half, vector):
    """The changes of all ranks, less those already included; other rows are unchanged."""
    (table, plain), places = table_of(rows + 3, factors, half), in_places(rows)
    before, (own, sums, common) = table.copy(), (changes_of(rows, factors, seed) for seed in (1, 2, 3))
    shares = np.random.default_rng(4).choice(np.float32([0.5, 0.75, 1.0]), rows)
    added = sums * shares[:, None]
    added[:, factors + SQUARES] = sums[:, factors + SQUARES]
    of_twin, expected = common.copy(), common + added
    wanted = numbers_of(before, factors, half)
    wanted[places] += added - own
    launch(kernels.make_add_changes(half, vector), 3, 64, own, sums, shares, places, table, common)
    np.testing.assert_array_equal(common, expected)
    np.testing.assert_array_equal(numbers_of(table, factors, half), wanted)
    np.testing.assert_array_equal(table[:, 4 - EXTRA :], before[:, 4 - EXTRA :])
    twins.add_changes(own, sums, shares, places, plain, of_twin)
    np.testing.assert_array_equal(of_twin, common)
    np.testing.assert_array_equal(numbers_of(plain, factors, False), wanted)


@pytest.mark.parametrize("half", [False, True])
def test_copies_exchange_changes(half, monkeypatch):
    """All ranks have the sum of the additions to their copies.

    Popular rows have it sooner.
    """
    talk_by_host(monkeypatch)
    monkeypatch.setattr(gpu, "COPYING", (2, 32))
    let_one_launch(monkeypatch)
    counts, places = np.array([3, 9, 0, 40, 1, 2, 2, 5, 1]), in_places(9, 2)
    parts = Parts(np.zeros(9, np.int32), (counts, counts), np.zeros(9, np.int32), None, None)
    started, steps = table_of(11, 12, half)[0], np.random.default_rng(3).integers(-9, 9, (2, 2, 11, 16)) / 8
    rows = Rows(12, started.shape[1], half)

    def work(team):
        table = cuda.to_device(started if team.rank == 0 else started + 1)
        session = SimpleNamespace(
            walk="users",
            vector=False,
            workers=4,
            layout=Layout(12, 0, 1, 12, 0, rows, rows),
            places=cuda.to_device(places),
            parameters=SimpleNamespace(Q=table),
        )
        copies, seen = gpu.CopiedRows(session, PLAN, parts, team, None), []
        for exchange, step in ((copies.popular, steps[0]), (copies.all, steps[1])):
            table.copy_to_device(moved(table.copy_to_host(), step[team.rank], half))
            exchange.run()
            copies.finish()
            seen.append(numbers_of(table.copy_to_host(), 12, half))
        return seen

    begun, (one, other) = numbers_of(started, 12, half), together(2, work)
    popular = places[np.argsort(-counts, kind="stable")[:2]]
    np.testing.assert_array_equal(one[0][popular], (begun + steps[0].sum(0))[popular])
    np.testing.assert_array_equal(one[0][popular], other[0][popular])
    rest = np.setdiff1d(places, popular)
    np.testing.assert_array_equal(other[0][rest], (begun + steps[0, 1])[rest])
    for seen in (one, other):
        np.testing.assert_array_equal(seen[1][places], (begun + steps.sum((0, 1)))[places])


@pytest.mark.parametrize("begin", [0, 3])
def test_every_part_of_an_epoch_is_processed_and_exchanged(begin, monkeypatch):
    """Both ranks have both ranks' changes after the given exchanges.

    For any number of workers. No rank starts before all are ready.
    """
    talk_by_host(monkeypatch)
    for name, value in (("COPYING", (2, 32)), ("MOST_THREADS", 32)):
        monkeypatch.setattr(gpu, name, value)
    monkeypatch.setattr(RULES, "first_exchanges", 3)
    monkeypatch.setattr(RULES, "later_exchanges", 2)
    let_one_launch(monkeypatch)
    monkeypatch.setattr(gpu.CopiedRows, "damp", lambda self, epoch, quarter: damped_at.append((epoch, quarter)))
    late, damped_at, counts, places = [], [], np.array([3, 9, 0, 40, 1, 2, 2, 5, 1]), in_places(9, 2)
    parts = Parts(np.zeros(9, np.int32), (counts, counts), np.zeros(9, np.int32), None, None)
    started, rows = table_of(11, 12, False)[0], Rows(12, table_of(11, 12, False)[0].shape[1], False)
    chunks = np.zeros((2, 48, 3), np.int64)
    chunks[..., 0], chunks[..., 2] = np.random.default_rng(7).choice(places, (2, 48)), np.arange(96).reshape(2, 48)

    def work(team):
        parameters = Parameters(*(cuda.to_device(started.copy()) for _ in range(4)))
        session = SimpleNamespace(
            walk="users",
            vector=False,
            layout=Layout(12, 0, 1, 12, 0, rows, rows),
            places=cuda.to_device(places),
            parameters=parameters,
            tables=[cuda.to_device(chunks[team.rank])],
            workers=8,
            batch=np.int64(0),
            sgd_epoch=count_chunks,
        )
        copies, met = gpu.CopiedRows(session, PLAN, parts, team, None), []
        for exchange, name in ((copies.all, "all"), (copies.popular, "popular")):
            monkeypatch.setattr(exchange, "run", noted(exchange.run, met, name))
        if team.rank:
            time.sleep(0.3)  # the other rank compiles its kernels meanwhile
            late.append("here")
        process_table = copies.process_table
        copies.process_table = lambda table, *more: (
            table.shape[0] > 4 and late.append("walks"),
            process_table(table, *more),
        )
        for epoch, workers in ((begin, 4), (begin + 1, 8)):
            copies.process(workers, np.int64(0), np.uint32(1), epoch)
            copies.finish()
            met.append("end")
        return parameters.Q.copy_to_host(), met

    expected = started.copy()
    np.add.at(expected[:, 0], chunks[..., 0].ravel(), 2 * chunks[..., 2].ravel())
    for table, met in together(2, work):
        np.testing.assert_array_equal(table, expected)
        later = ["popular", "popular"] * 4
        first = later if begin else ["popular", "popular", "all"] * 4
        assert met == ["popular", *first, "all", "end", *later, "all", "end"]
    assert late == ["here", *["walks"] * 2 * 8]
    turns = [(begin, part) for part in range(1 if begin else 4)]
    assert sorted(damped_at) == sorted(2 * [(0, 0), *turns, (begin + 1, 0)])


@pytest.mark.parametrize(
    "steps, each, expected",
    [(1000, 0.05, (16, 6)), (1000, 0.1, (8, 6)), (1000, 0.2, (4, 4)), (1000, 9.0, (3, 3)), (1, 0.05, (3, 3))],
)
def test_exchanges_fill_the_time(steps, each, expected):
    """Steps of 0.8 us; at least one exchange of all rows."""
    assert gpu.exchange_counts(steps, each) == expected and gpu.exchange_counts(steps, 0.0)[0] == (
        16 if steps > 1 else 3
    )


def test_an_exchange_is_timed(monkeypatch):
    """The time of the slower rank, the same on all; the rows are unchanged."""
    talk_by_host(monkeypatch)
    monkeypatch.setattr(gpu, "COPYING", (2, 32))
    let_one_launch(monkeypatch)
    ranks = {}

    class Event:
        """A real event with a made-up time."""

        def __init__(self, event):
            self.wait, self.query = event.wait, getattr(event, "query", None)  # missing in the simulator

        def elapsed_time(self, later):
            return 12.0 * (1 + ranks[threading.get_ident()])

    record_event = gpu.record_event
    monkeypatch.setattr(gpu, "record_event", lambda *stream: Event(record_event(*stream)))
    asked, counts, places = [], np.array([3, 9, 0, 40, 1, 2, 2, 5, 1]), in_places(9, 2)
    monkeypatch.setattr(gpu, "exchange_counts", lambda *given: (asked.append(given), (3, 3))[1])
    parts = Parts(np.zeros(9, np.int32), (counts, counts), np.zeros(9, np.int32), None, None)
    started = table_of(11, 12, False)[0]
    rows = Rows(12, started.shape[1], False)

    def work(team):
        ranks[threading.get_ident()] = team.rank
        table = cuda.to_device(started)
        layout, parameters = Layout(12, 0, 1, 12, 0, rows, rows), SimpleNamespace(Q=table)
        more = {"places": cuda.to_device(places), "parameters": parameters}
        session = SimpleNamespace(walk="users", vector=False, workers=4, layout=layout, **more)
        gpu.CopiedRows(session, PLAN, parts, team, None)
        return table.copy_to_host()

    for table in together(2, work):
        np.testing.assert_array_equal(table, started)
    (steps, each), other = asked
    assert (steps, each) == other == (63 / (2 * gpu.PARTS * 4), 24.0 / 6)


def noted(function, calls, name):
    """Return a function that records its calls."""

    def noting():
        calls.append(name)
        function()

    return noting


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("rows, factors", [(1, 1), (5, 7), (70, 33)])
def test_how_long_factors_are(rows, factors, blocks, every):
    """Weighted by ratings, over every row or each third.

    The unknown row has no ratings.
    """
    table = np.random.default_rng(0).normal(size=(rows + 1, factors + 3 + EXTRA)).astype(np.float32)
    counts = np.random.default_rng(1).integers(0, 9, rows).astype(np.float32)
    some, weights = table[:rows:every, :factors].astype(float), counts[::every].astype(float)
    expected = [(weights * (some**2).sum(1)).sum(), weights.sum()]
    for run in (lambda *given: launch(kernels.factor_squares, blocks, 256, *given), twins.factor_squares):
        sums = np.full((blocks, 2), 77.0)
        run(table, counts, factors, every, sums)
        np.testing.assert_allclose(sums.sum(0), expected, rtol=1e-6)


@pytest.mark.parametrize("rows", [1, 33, 200])
def test_damp(rows):
    """As in float64; share 1 if nothing is known of the factors."""
    sums = np.array([[3.0, 4.0], [0.0, 0.0], [1.5, 2.0]])
    paces = np.random.default_rng(rows).choice(np.float32([0, 1e-7, 1e-4, 0.3, 5, 1e4]), rows)
    x = np.maximum(paces * 0.75, 1e-12)
    for totals, expected in ((sums, np.expm1(-3 * x) / (3 * np.expm1(-x))), (0 * sums, np.ones(rows))):
        found, by_twin = (np.full(rows, 77, np.float32) for _ in range(2))
        launch(kernels.damp, 2, 64, totals, paces, 3, found)
        twins.damp(totals, paces, 3, by_twin)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        np.testing.assert_allclose(by_twin, expected, rtol=1e-5)


def test_ranks_damp_alike(monkeypatch):
    """Damping by the factors of all users, as on the CPU.

    Each factor is from the rank that has it.
    """
    talk_by_host(monkeypatch)
    for name, value in (("COPYING", (2, 32)), ("MEASURING", (3, 256)), ("exchange_counts", lambda *_: (6, 6))):
        monkeypatch.setattr(gpu, name, value)
    let_one_launch(monkeypatch)
    users, items = np.array([4, 1, 0, 7, 2]), np.array([3, 900, 40, 0, 7, 6])
    parts = Parts(np.array([0, 1, 1, 0, 1]), (users, items), np.zeros(6, np.int32), None, None)
    plan = check(MatrixFactorization(n_factors=12, n_epochs=3), 10**6)
    table, (Q, _) = np.random.default_rng(5).normal(size=(6, 12 + EXTRA)), table_of(8, 12, False)
    of = {rank: table[np.append(parts.owner == rank, True)].astype(np.float32) for rank in (0, 1)}
    rows = Rows(12, Q.shape[1], False)

    def session(team, put, **more):
        parameters = SimpleNamespace(Q=put(Q[: 6 + 2 * len(more)]), P=put(of[team.rank]))
        layout = Layout(12, 0, 1, 12, 0, rows, rows)
        return SimpleNamespace(walk="users", vector=False, workers=4, layout=layout, parameters=parameters, **more)

    def on_gpus(team):
        its = session(team, cuda.to_device, places=cuda.to_device(in_places(6, 2)))
        return list(damped(gpu.CopiedRows(its, plan, parts, team, None), lambda array: array.copy_to_host()))

    def on_cpus(team):
        monkeypatch.setattr(cpu, "PARTS", gpu.PARTS * 6)
        return list(damped(cpu.CopiedRows(session(team, np.array), plan, parts, team, None), lambda array: array[:-1]))

    order = np.argsort(-items, kind="stable")
    (one, other), (by_cpu, _) = (together(2, work) for work in (on_gpus, on_cpus))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(np.array(one)[:, 0], np.array(by_cpu)[:, order[0]], rtol=1e-5)  # in every exchange
    assert len(one) == 4 + 2 and 0.5 < one[4][0] < one[5][0] < 0.999 and one[4][-1] == 1


def damped(copies, fetch):
    """Yield the shares of the first epoch's quarters and of later epochs."""
    for turn in range(len(copies.paces)):
        copies.damp(max(0, turn - 3), turn % 4)
        yield np.array(fetch(copies.shares))


def talk_by_host(monkeypatch):
    """Transfer the ranks' arrays through the host.

    The ranks of a test have one GPU.
    """
    monkeypatch.setattr(
        gpu, "lines_of", lambda team, device: HostTransport(team, lambda array: array.copy_to_host(), copy_in)
    )


def let_one_launch(monkeypatch):
    """Serialize the launches of a test's ranks.

    The simulator supports one launch at a time.
    """
    lock, launched = threading.Lock(), _driver.launch

    def waiting(*arguments, **named):
        with lock:
            return launched(*arguments, **named)

    for module in (gpu, _driver):
        monkeypatch.setattr(module, "launch", waiting)


PLAN = check(MatrixFactorization(n_factors=12, n_epochs=1), 10**6)


def moved(table, step, half):
    """Return a table with a step (rows, F + 4) added to its exchanged numbers."""
    numbers, first, out = numbers_of(table, 12, half) + step, table.shape[1] - EXTRA, table.copy()
    factors = np.float32(numbers[:, :12])
    stored = of_halves(factors) if half else factors
    out[:, : stored.shape[1]], out[:, first : first + 4] = stored, numbers[:, 12:]
    return out
