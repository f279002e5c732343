"""Training on ratings that travel in blocks, against the same chunks on ratings that stay on the GPU."""

import itertools
import random
import warnings
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:.* encountered|.* neighbour slots are random")]

from support import SIMULATED, small_launches

from gpukit._driver import launch
from gpukit.device import Device
from gpukit.errors import DeviceMemoryError
from gpukit.factorization import LSHMF, MatrixFactorization, gpu, plan
from gpukit.factorization import cpu as chunking
from gpukit.factorization import run as begin
from gpukit.factorization.constants import RULES
from gpukit.factorization.solvers.rates import row_rates
from gpukit.factorization.solvers.sgd import schedule, stream_training
from gpukit.ratings import Ratings

GPU = Device("cuda", 0, "a GPU", (9, 0))
SHAPE, N = (30, 25), 160
NEAR = {"n_neighbors": 5, "lsh_q": 4}  # a hash of a hundred tables takes longer than the epochs in the simulator
NAMED = {"n_factors": 4, "n_epochs": 2, "regularization": 0.02, "device": GPU, "precision": "single"}


@pytest.fixture(autouse=True)
def small_gpu(monkeypatch):
    """One worker, so that an epoch is deterministic."""
    small_launches(monkeypatch)
    monkeypatch.setattr(gpu, "most_workers", lambda layout: 1)
    for module in (gpu, plan):
        monkeypatch.setattr(module, "CODE_BLOCKS", 2)
    for module in (gpu, stream_training):
        monkeypatch.setattr(module, "BLOCK", 32)
    monkeypatch.setattr(RULES, "chunk_rounds", 1)


def ratings_of(levels=5, weighted=False):
    rng = np.random.default_rng(levels)
    users, items = np.divmod(np.sort(rng.choice(SHAPE[0] * SHAPE[1], N, replace=False)), SHAPE[1])
    values = rng.integers(1, 6, N) if levels == 5 else rng.normal(size=N)
    columns = users.astype(np.int32), items.astype(np.int32), values.astype(np.float32), *map(np.arange, SHAPE)
    return Ratings(*columns, weights=rng.uniform(0.1, 3, N).astype(np.float32) if weighted else None)


class Resident(NamedTuple):
    """Session, settings.Settings and arrays.Side of a training whose ratings stay on the GPU."""

    session: object
    settings: object
    side: object


def streamed(estimator, ratings, kept, monkeypatch, in_file=False):
    """Return a Run with ratings in blocks; `kept` blocks stay on the device, the others are in memory or in a file."""
    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        patch.setattr(begin, "fitting_layout", lambda *given: (begin.choose_layout(*given)[0], True))
        patch.setattr(stream_training, "kept_blocks", lambda blocks, *others: min(kept, blocks))
        patch.setattr(stream_training, "is_large", lambda size: in_file)
        run = estimator.prepare(ratings)
    sent = [str(entry.message) for entry in caught if "stream from host memory" in str(entry.message)]
    assert len(sent) == (kept < len(run.training.blocks))
    return run


def resident_epoch(run, number, blocks):
    """Run an epoch of a resident Run on the chunks of `blocks` blocks, one after another."""
    session, side = run.session, run.side
    counts, settings = np.diff(side.indptr), run.settings
    pace = schedule.Pace(1, row_rates(settings.rates, settings.learning_rate, counts))
    table = schedule.cut_table(counts, side.starts.copy_to_host(), pace, settings.seed, chunking, blocks)
    rates, turn = settings.epoch_rates(number), schedule.turn_key(settings.seed, number)
    for part in table.reshape(blocks, -1, 3):
        chunks = gpu.to_device(np.ascontiguousarray(part))
        launch(session.sgd_epoch, 1, 32, chunks, session.batch, session.parameters, rates, turn, 1)


def resident(estimator, ratings, monkeypatch):
    """Return a resident Run with its Side."""
    sides = []
    with monkeypatch.context() as patch:
        train_on = gpu.DeviceModel.train_on
        patch.setattr(
            gpu.DeviceModel, "train_on", lambda model, *given: (sides.append(given[0]), train_on(model, *given))
        )
        run = estimator.prepare(ratings)
    return Resident(run.session, run.settings, sides[0])


def assert_same(one, other):
    """To the bit in the simulator; a GPU's z of ratings may differ in the last bits from those of the host."""
    for name, array in one._asdict().items():
        if SIMULATED:
            np.testing.assert_array_equal(array, getattr(other, name), err_msg=name)
        else:
            np.testing.assert_allclose(array, getattr(other, name), rtol=1e-4, atol=1e-6, err_msg=name)


CASES = {
    "users": (MatrixFactorization, {}, 5, False),
    "many values": (MatrixFactorization, {}, 1000, False),
    "weights": (MatrixFactorization, {}, 5, True),
    "neighbours": (LSHMF, NEAR, 5, False),
    "neighbours, weights, many values": (LSHMF, NEAR, 1000, True),
}


STREAMED = [("users", kept, False) for kept in (0, 3, 8)]
STREAMED += [(case, 3, case == "neighbours, weights, many values") for case in list(CASES)[1:]]
TIERS = dict.fromkeys(STREAMED, pytest.mark.slow)


@pytest.mark.parametrize(
    "case, kept, in_file",
    [
        pytest.param(*each, marks=TIERS.get(each, pytest.mark.nightly))
        for each in itertools.product(CASES, [0, 3, 8], [False, True])
    ],
)
def test_streamed_epochs_are_resident_epochs(case, kept, in_file, monkeypatch):
    """In two epochs: the second starts with blocks that were sent during the first."""
    kind, named, levels, weighted = CASES[case]
    estimator, ratings = kind(**NAMED, **named), ratings_of(levels, weighted)
    expected, run = resident(estimator, ratings, monkeypatch), streamed(estimator, ratings, kept, monkeypatch, in_file)
    blocks = run.training.blocks
    assert len(blocks) == (7 if kind is MatrixFactorization else 6)  # a quad of chunks or more each
    assert sum(block.kept for block in blocks) == min(kept, len(blocks))
    assert sum(block.n for block in blocks) == N
    for number in range(2):
        resident_epoch(expected, number, len(blocks))
        run.training.epoch(number)
        assert_same(run.session.state(), expected.session.state())
    asked = run.session.ask(ratings.users[:50], ratings.items[:50])
    others = expected.session.ask(ratings.users[:50], ratings.items[:50])
    found, known = run.session.predict(asked), expected.session.predict(others)
    np.testing.assert_allclose(found, known, rtol=0, atol=0 if SIMULATED else 1e-5)


class Machine:
    """Streams whose operations run in any order that events allow, a random one."""

    def __init__(self, seed):
        self.random, self.streams = random.Random(seed), []

    def stream(self):
        self.streams.append(Stream(self))
        return self.streams[-1]

    def run_until_empty(self, stream):
        while stream.operations:
            self.run_one()

    def run_one(self):
        ready = [one for one in self.streams if one.operations and one.operations[0][0]()]
        self.random.choice(ready).operations.pop(0)[1]()


class Stream:
    def __init__(self, machine):
        self.machine, self.operations = machine, []

    def queue(self, run, is_ready=lambda: True):
        self.operations.append((is_ready, run))

    def synchronize(self):
        self.machine.run_until_empty(self)


class Event:
    """CUDA event: a wait is for the last record before it."""

    def __init__(self):
        self.recorded = self.reached = 0

    def record(self, stream):
        self.recorded, self.stream = self.recorded + 1, stream
        stream.queue(lambda number=self.recorded: setattr(self, "reached", number))

    def wait(self, stream):
        stream.queue(lambda: None, lambda number=self.recorded: self.reached >= number)

    def synchronize(self):
        while self.reached < self.recorded:
            self.stream.machine.run_one()


@pytest.mark.simulator  # whose copies and launches take place at once
@pytest.mark.parametrize(
    "seed, in_file", [(0, False), *(pytest.param(seed, seed == 2, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_any_order_that_events_allow(seed, in_file, monkeypatch):
    """A buffer, on the device or in page-locked memory, is neither read before it is filled nor filled before."""
    ratings, machine = ratings_of(), Machine(seed)
    estimator = MatrixFactorization(**NAMED)
    expected = streamed(estimator, ratings, 2, monkeypatch)
    for number in range(2):
        expected.training.epoch(number)
    copy, pinned_array = stream_training.copy_page_locked, stream_training.cuda.pinned_array
    fake = SimpleNamespace(stream=machine.stream, event=Event, pinned_array=pinned_array)
    monkeypatch.setattr(stream_training, "cuda", fake)

    def launch_later(*arguments, stream):
        stream.queue(lambda: launch(*arguments))

    def copy_later(memory, there, first, stream):
        stream.queue(lambda: copy(memory, there, first, 0))

    monkeypatch.setattr(stream_training, "launch", launch_later)
    monkeypatch.setattr(stream_training, "copy_page_locked", copy_later)
    run = streamed(estimator, ratings, 2, monkeypatch, in_file)
    for number in range(2):
        run.training.epoch(number)
    assert_same(run.session.state(), expected.session.state())


def test_blocks_arrive_in_order():
    """Every buffer gets every other block; taking another block than the one that arrived is an error."""
    sent, stream = [], SimpleNamespace()
    event = lambda: SimpleNamespace(record=lambda stream: None, wait=lambda stream: None)  # noqa: E731
    queue = stream_training.BlockQueue(
        [False, True, False, False], lambda *given: sent.append(given), stream, stream, event
    )
    for block in (0, 2, 3, 0, 2):
        queue.give_back(queue.take(block))
    assert sent == [(0, 0), (2, 1), (3, 0), (0, 1), (2, 0), (3, 1), (0, 0)]
    with pytest.raises(ValueError, match="block 2 is not the next"):
        queue.take(2)


def layout_within(limit, monkeypatch, **named):
    """Return whether a training on 1,500 ratings streams with a limit of memory, and its plan's blocks."""
    shape, n = (60, 40), 1500
    users, items = np.divmod(np.arange(n), shape[1])
    columns = users.astype(np.int32), items.astype(np.int32), (items % 5).astype(np.float32)
    estimator = MatrixFactorization(**{**NAMED, **named})
    if limit is not None:
        monkeypatch.setenv("GPUKIT_GPU_MEMORY", limit)
    ratings = Ratings(*columns, *map(np.arange, shape))
    return begin.fitting_layout(estimator, estimator.check(n), ratings, GPU, gpu)[1]


def test_the_limit_decides(monkeypatch):
    assert not layout_within(None, monkeypatch)
    assert not layout_within("1GiB", monkeypatch)
    assert layout_within("66000", monkeypatch)
    with pytest.raises(DeviceMemoryError, match="1,500 ratings, streamed from main memory, needs"):
        layout_within("30000", monkeypatch)
    with pytest.raises(DeviceMemoryError, match="on 1,500 ratings needs"):
        layout_within("66000", monkeypatch, solver="als")
    with pytest.raises(DeviceMemoryError, match="on 1,500 ratings needs.*--device cpu"):
        layout_within("66000", monkeypatch, deterministic=True)


@pytest.mark.slow
def test_a_fit(monkeypatch):
    """Held-out ratings judge the epochs; the model predicts as its last epoch did."""
    train, test = ratings_of().split(0.2, 0)
    monkeypatch.setattr(begin, "fitting_layout", lambda *given: (begin.choose_layout(*given)[0], True))
    monkeypatch.setattr(stream_training, "kept_blocks", lambda blocks, *others: 1)
    with pytest.warns(UserWarning, match="at 1 bytes a rating; 1 of [0-9]+ blocks stay on the GPU"):
        model = MatrixFactorization(**NAMED).fit(train, validation=test)
    errors = model.predict(test) - test.values
    assert model.history_[-1]["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-5)


@pytest.mark.parametrize("rows", [1, 7, SHAPE[0] - 1])
def test_parameters_are_read_in_parts(rows, monkeypatch):
    run = MatrixFactorization(**NAMED).prepare(ratings_of())
    run.session.state()
    run.training.epoch(0)  # so that memory which is not written has other values
    with monkeypatch.context() as patch:
        patch.setattr(gpu, "READ_BYTES", rows * run.session.parameters.P[:1].nbytes)
        in_parts = run.session.state()
    assert_same(in_parts, run.session.state())
