"""Host steps of the GPU against those of the CPU.

Preparation, epoch, predictions, lists, State.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from support import small_launches

from factorization.inputs import ordered, planted, problem, rates
from gpukit.factorization.arrays import Side
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.plan import memory_kept
from gpukit.factorization.prepare import training_data
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.training import chunk_tables

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.device import Device
from gpukit.factorization import cpu, gpu
from gpukit.factorization import cpu as cpu_steps
from gpukit.factorization import gpu as gpu_steps

GPU = Device("cuda", 0, "")
SHAPE = 8, 7
ASKED = np.array([0, 8, 3, 0, 8], np.int32), np.array([1, 2, 7, 6, 7], np.int32)  # 8 and 7 are unknown


@pytest.fixture(autouse=True)
def few_threads(monkeypatch):
    """Use grids of a few warps."""
    small_launches(monkeypatch)
    monkeypatch.setattr(gpu, "CODE_BLOCKS", 3)
    monkeypatch.setattr(gpu_steps, "PARTS", 3)
    monkeypatch.setattr(gpu_steps, "BLOCK", 64)
    for steps in (cpu_steps, gpu_steps):
        monkeypatch.setattr(steps, "GRAIN", 2)


@pytest.fixture(params=[(5, 0, "users"), (9, 3, "items")], ids=["plain", "neighbours"])
def kind(request):
    """F, K and the major side."""
    return request.param


def ordered_on(steps, ratings=None):
    """Return (Ratings, Orders, Scale, History) on cpu or gpu."""
    ratings = planted(*SHAPE, 0.5) if ratings is None else ratings
    orders = ordered(ratings, GPU if steps is gpu else None)
    scale = training_data.scale_of(orders, ratings.values)
    return ratings, orders, scale, training_data.history_of(orders, scale, steps)


def begin(kind, data, steps, half=False, biases=True):
    """Return the DeviceModel at the start of a training on the result of `ordered_on`."""
    _, orders, scale, history = data
    n_factors, n_neighbors, walk = kind
    neighbors = problem(n_factors, n_neighbors, shape=SHAPE, n_ratings=5).state.neighbors
    data = SimpleNamespace(baseline=training_data.baseline_of(orders, scale, steps), history=history)
    plan = SimpleNamespace(biases=biases, seed=4)
    return steps.begin(plan, data, steps.layout(n_factors, n_neighbors, half), walk, neighbors)


def begun(kind, steps, half=False, biases=True):
    """Return (Ratings, DeviceModel) on cpu or gpu at the start of training.

    kind: F, K and the major side.
    """
    data = ordered_on(steps)
    return data[0], begin(kind, data, steps, half, biases)


def trained(kind, steps, half=False, of_state=True):
    """Return (Ratings, DeviceModel) ready for training without conflicts.

    The State is a small one during its training, or the initial one.
    """
    n_factors, n_neighbors, walk = kind
    ratings, orders, scale, rated = data = ordered_on(steps)
    layout = steps.layout(n_factors, n_neighbors, half)
    if of_state:
        state = problem(n_factors, n_neighbors, shape=SHAPE, n_ratings=5).state
        session = steps.DeviceModel(state, layout, walk, rated)
    else:
        session = begin(kind, data, steps, half)
    made = training_data.prepare_ratings(
        orders, scale, training_data.PreparationOptions(walk, 1, True, n_neighbors > 0), steps
    )
    assert (made.query is None) == (n_neighbors == 0)
    session.train_on(made.side, made.query, *chunk_tables(made.side, None, 0, steps))
    return ratings, session


def on_host(array):
    """Return an array of either device on the host."""
    return array if isinstance(array, np.ndarray) else array.copy_to_host()


@pytest.mark.parametrize(
    "values, walk, deterministic",
    [("few", "users", False), ("few", "items", True), ("many", "users", True), ("many", "items", False)],
)
def test_the_same_is_prepared(values, walk, deterministic):
    """Equal preparation on both devices.

    History, sides and queries are bit-identical; biases, and z without levels, to the last places.
    """
    ratings = planted(*SHAPE, 0.5)
    if values == "many":
        ratings = planted(25, 23, 0.6)
        ratings.values[:] = np.random.default_rng(0).permutation(len(ratings)) / 3
    found = []
    for steps in (cpu, gpu):
        _, orders, scale, rated = ordered_on(steps, ratings)
        way = training_data.PreparationOptions(
            walk, 5, deterministic, True, trend=(0.3, 0.6) if walk == "items" else ()
        )
        _, side, query, scale, baseline, _ = training_data.prepare_ratings(orders, scale, way, steps)
        biases = [on_host(array) for array in baseline]
        strata = side.strata or []
        assert len(strata) == (deterministic and (3 if values == "few" else 12))
        found.append(([on_host(array) for array in (*rated, *side[:5], *query, *strata)], scale, biases))
        assert orders.levels.exact == (values == "few")
    (mine, scale, biases), (other, other_scale, other_biases) = found
    np.testing.assert_allclose(other_scale, scale, rtol=1e-12)
    for expected, array in zip(mine, other, strict=True):
        assert expected.dtype == array.dtype
        if array is other[VALUES] and values == "many":  # z of ratings without levels is divided on the device
            np.testing.assert_allclose(array, expected, rtol=3e-7)
        else:
            np.testing.assert_array_equal(array, expected)
    for expected, array in zip(biases, other_biases, strict=True):
        assert array.dtype == np.float64
        np.testing.assert_allclose(array, expected, atol=1e-12)


VALUES = 4 + Side._fields.index("values")  # after the history's four arrays


@pytest.mark.parametrize("biases", [True, False])
def test_training_begins_alike(kind, biases):
    """The initial State and its predictions, bit-identical except for the last places of biases."""
    (_, mine), (_, other) = (begun(kind, steps, biases=biases) for steps in (cpu, gpu))
    for name, expected, found in zip(mine.state()._fields, mine.state(), other.state(), strict=True):
        assert expected.shape == found.shape and expected.dtype == found.dtype
        np.testing.assert_allclose(found, expected, atol=0 if "extras" not in name else 1e-6)
    assert mine.state().user_extras[:, 0].any() == biases and mine.state().user_factors.any()
    expected, found = (session.predict(session.ask(*ASKED)) for session in (mine, other))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_training_begins_with_halves(kind):
    """The minor side has the initial numbers of single precision, rounded."""
    single, half = (begun(kind, gpu, precision)[1].state() for precision in (False, True))
    rounded = "item_factors" if kind[2] == "users" else "user_factors"
    for name, expected, found in zip(single._fields, single, half, strict=True):
        expected = expected.astype(np.float16) if name == rounded else expected
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("of_state", [True, False])
def test_epochs_predictions_and_recommendations(kind, of_state):
    (_, mine), (_, other) = (trained(kind, steps, of_state=of_state) for steps in (cpu, gpu))
    for session in (mine, other):
        for epoch in range(2):
            session.start_epoch(rates(), schedule.turn_key(3, epoch))
            session.finish()
    for expected, found in zip(mine.state(), other.state()):
        assert expected.shape == found.shape and expected.dtype == found.dtype
        np.testing.assert_allclose(found, expected, atol=2e-5)
    expected, found = (session.predict(session.ask(*ASKED)) for session in (mine, other))
    np.testing.assert_allclose(found, expected, atol=2e-5)
    for hide in (True, False):
        worth = np.linspace(-1, 1, mine.item_rows, dtype=np.float32)
        worth[3] = np.nan
        best = [session.best(np.array([7, 0, 8], np.int32), 7, worth, hide) for session in (mine, other)]
        (rows, scores), (found_rows, found_scores) = best
        np.testing.assert_allclose(found_scores, scores, atol=2e-5)
        np.testing.assert_array_equal(found_rows, rows)


def test_errors(kind):
    """Sums over more pairs than a block has threads, also of unknown ids."""
    (ratings, mine), (_, other) = (trained(kind, steps) for steps in (cpu, gpu))
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 9, 230).astype(np.int32), rng.integers(0, 8, 230).astype(np.int32)
    truth, scale = rng.integers(1, 6, 230).astype(np.float64), training_data.Scale(3.2, 2.5, 1.0, 5.0)
    sums = [session.errors(session.ask(users, items), session.truth(truth), scale) for session in (mine, other)]
    assert sums[1] == pytest.approx(sums[0], rel=1e-5)
    predicted = np.clip(mine.predict(mine.ask(users, items)).astype(np.float64) * 2.5 + 3.2, 1, 5)
    assert sums[0] == pytest.approx((((predicted - truth) ** 2).sum(), np.abs(predicted - truth).sum()), rel=1e-5)


@pytest.mark.slow
def test_half_precision(kind):
    """As single precision, to the last places of float16; the major side stays float32."""
    (_, single), (_, half) = (trained(kind, gpu, precision) for precision in (False, True))
    for epoch in range(2):
        for session in (single, half):
            session.start_epoch(rates(), schedule.turn_key(3, epoch))
            session.finish()
    for expected, found in zip(single.state(), half.state()):
        assert expected.shape == found.shape and expected.dtype == found.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=4e-3)
    walked, other = major_first(kind[2], half.state().user_factors, half.state().item_factors)
    assert (other == other.astype(np.float16)).all() and (walked != walked.astype(np.float16)).any()
    expected, found = (session.predict(session.ask(*ASKED)) for session in (single, half))
    np.testing.assert_allclose(found, expected, atol=8e-3)
    with pytest.raises(ValueError, match="single precision"):
        half.best(np.array([7, 0, 8], np.int32), 7, np.zeros(8, np.float32), True)


@pytest.mark.parametrize("half", [False, True])
def test_memory_on_paper(kind, half):
    """run.check_memory requires the bytes of a DeviceModel's arrays."""
    ratings, session = trained(kind, gpu, half)
    (P, Q, influence, offsets), (minor, values, codes, _) = session.parameters, session.batch
    arrays = [P, Q, minor, values, session.history.items, session.history.codes]
    if kind[1]:
        arrays += [codes, session.near, influence, offsets]
    taken = sum(array.size * array.dtype.itemsize for array in arrays)
    assert memory_kept(len(ratings), major_first(kind[2], *ratings.shape), session.layout) == taken


@pytest.mark.parametrize("of_state", [True, False])
def test_nothing_is_asked(kind, of_state):
    nothing = np.zeros(0, np.int32)
    for steps in (cpu, gpu):
        session = trained(kind, steps, of_state=of_state)[1]
        asked = session.ask(nothing, nothing)
        assert session.predict(asked).shape == (0,)
        assert session.errors(asked, session.truth(nothing), training_data.Scale(0.0, 1.0, 0.0, 1.0)) == (0, 0)
