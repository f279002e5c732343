"""Training on ratings that travel in blocks, against the same chunks on ratings that stay on the GPU."""

import random
import warnings

import numpy as np
import pytest

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:.* encountered|.* neighbour slots are random")]

from support import small_launches

from gpukit import device as devices
from gpukit._driver import launch
from gpukit.device import Device
from gpukit.errors import DeviceMemoryError
from gpukit.factorization import LSHMF, MatrixFactorization, begin, gpu, plan
from gpukit.factorization.solvers.sgd import chunk_table, schedule, stream_training
from gpukit.factorization.solvers.sgd import cpu as chunking
from gpukit.ratings import Ratings

GPU = Device("cuda", 0, "a GPU", (9, 0))
SHAPE, N = (30, 25), 320
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


def ratings_of(levels=5, weighted=False):
    rng = np.random.default_rng(levels)
    users, items = np.divmod(np.sort(rng.choice(SHAPE[0] * SHAPE[1], N, replace=False)), SHAPE[1])
    values = rng.integers(1, 6, N) if levels == 5 else rng.normal(size=N)
    columns = users.astype(np.int32), items.astype(np.int32), values.astype(np.float32), *map(np.arange, SHAPE)
    return Ratings(*columns, weights=rng.uniform(0.1, 3, N).astype(np.float32) if weighted else None)


def streamed(estimator, ratings, kept, monkeypatch):
    """Return a Run whose ratings are in blocks, `kept` of which stay on the device."""
    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        patch.setattr(begin, "fitting_layout", lambda *given: (begin.choose_layout(*given)[0], True))
        patch.setattr(stream_training, "kept_blocks", lambda blocks, *others: min(kept, blocks))
        run = estimator.prepare(ratings)
    assert any("stream from host memory" in str(entry.message) for entry in caught)
    return run


def resident_epoch(run, number, blocks):
    """Run an epoch of a resident Run on the chunks of `blocks` blocks, one after another."""
    session, side = run.session, run.resident_side
    counts, settings = np.diff(side.indptr), run.settings
    pace = schedule.Pace(1, stream_training_rates(settings, counts))
    table = chunk_table.cut_table(counts, side.starts.copy_to_host(), pace, settings.seed, chunking, blocks)
    rates, turn = settings.epoch_rates(number), schedule.turn_key(settings.seed, number)
    for part in table.reshape(blocks, -1, 3):
        chunks = gpu.to_device(np.ascontiguousarray(part))
        launch(session.sgd_epoch, 1, 32, chunks, session.batch, session.parameters, rates, turn, 1)


def stream_training_rates(settings, counts):
    from gpukit.factorization.solvers.rates import row_rates

    return row_rates(settings.rates, settings.learning_rate, counts)


def resident(estimator, ratings, monkeypatch):
    """Return a resident Run with its Side."""
    sides = []
    with monkeypatch.context() as patch:
        train_on = gpu.DeviceModel.train_on
        patch.setattr(gpu.DeviceModel, "train_on", lambda model, *given: (sides.append(given[0]), train_on(model, *given)))
        run = estimator.prepare(ratings)
    made = type("Made", (), {})()
    made.session, made.settings, made.resident_side = run.session, run.settings, sides[0]
    return made


def assert_same(one, other):
    for name, array in one._asdict().items():
        np.testing.assert_array_equal(array, getattr(other, name), err_msg=name)


CASES = {
    "users": (MatrixFactorization, {}, 5, False),
    "many values": (MatrixFactorization, {}, 1000, False),
    "weights": (MatrixFactorization, {}, 5, True),
    "neighbours": (LSHMF, {"n_neighbors": 5}, 5, False),
    "neighbours, weights, many values": (LSHMF, {"n_neighbors": 5}, 1000, True),
}


@pytest.mark.parametrize("kept", [0, 3, 8])
@pytest.mark.parametrize("case", CASES)
def test_streamed_epochs_are_resident_epochs(case, kept, monkeypatch):
    """To the bit, in two epochs: the second starts with blocks that were sent during the first."""
    kind, named, levels, weighted = CASES[case]
    estimator, ratings = kind(**NAMED, **named), ratings_of(levels, weighted)
    expected, run = resident(estimator, ratings, monkeypatch), streamed(estimator, ratings, kept, monkeypatch)
    blocks = run.training.blocks
    assert sum(block.kept for block in blocks) == min(kept, len(blocks)) and len(blocks) == (8 if kind is MatrixFactorization else 6)
    assert sum(block.n for block in run.training.blocks) == N
    for number in range(2):
        resident_epoch(expected, number, len(blocks))
        run.training.epoch(number)
        assert_same(run.session.state(), expected.session.state())
    asked = run.session.ask(ratings.users[:50], ratings.items[:50])
    others = expected.session.ask(ratings.users[:50], ratings.items[:50])
    np.testing.assert_array_equal(run.session.predict(asked), expected.session.predict(others))
