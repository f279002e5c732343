"""Memory layout of a model, and its initial state."""

from types import SimpleNamespace

import numpy as np
import pytest

from factorization.inputs import assert_unused_is_zero, problem
from gpukit.errors import ParameterError
from gpukit.factorization import cpu
from gpukit.factorization.arrays import History
from gpukit.factorization.constants import RULES
from gpukit.factorization.model import state as states
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA, PRECISIONS, SQUARES, cpu_layout, gpu_layout, is_half
from gpukit.factorization.prepare.formulas import SPREAD, first_factor
from gpukit.random import key
from gpukit.streams import Keyed

SIZES = [(1, 0), (1, 1), (32, 32), (33, 5), (128, 31), (130, 0), (1024, 200)]


def neighborhood(state, layout):
    """Return states.pack_neighborhood of a State."""
    return states.pack_neighborhood(state.neighbors, state.influence, state.item_extras[:, BASE], layout)


@pytest.mark.parametrize("layout_of, half", [(cpu_layout, False), (gpu_layout, False), (gpu_layout, True)])
@pytest.mark.parametrize("n_factors, n_neighbors", SIZES)
def test_packing_and_back(n_factors, n_neighbors, layout_of, half):
    state = problem(n_factors, n_neighbors, shape=(5, max(4, n_neighbors + 1))).state
    layout = layout_of(n_factors, n_neighbors, half)
    assert (layout.major.half, layout.minor.half) == (False, half)
    for factors, extras, rows in (
        (state.user_factors, state.user_extras, layout.major),
        (state.item_factors, state.item_extras, layout.minor),
    ):
        table = states.pack_rows(factors, extras, rows)
        assert table.shape == (len(factors) + 1, rows.stride) and table.dtype == np.float32
        assert_unused_is_zero(table, rows)
        for place, column in ((BIAS, 0), (SQUARES, 1), (BASE, 2)):
            np.testing.assert_array_equal(table[:-1, rows.stride - EXTRA + place], extras[:, column])
        stored = factors.astype(np.float16).astype(np.float32) if rows.half else factors
        for before, after in zip((stored, extras), states.unpack_rows(table, rows)):
            np.testing.assert_array_equal(before, after)
            assert after.flags.c_contiguous and after.dtype == np.float32
    near, influence, offsets = neighborhood(state, layout)
    np.testing.assert_array_equal(near[:-1, :n_neighbors], state.neighbors)
    assert (near[:, n_neighbors:] == -1).all() and (near[-1] == -1).all()
    np.testing.assert_array_equal(states.unpack_influence(influence, layout), state.influence)
    np.testing.assert_array_equal(influence[:-1, layout.slots : layout.slots + n_neighbors], state.influence[:, 1])
    np.testing.assert_array_equal(offsets[:-1, :n_neighbors], state.item_extras[state.neighbors, BASE])


@pytest.mark.parametrize("n_factors", [1, 8, 31, 32, 33, 128, 129, 256, 257, 1024])
@pytest.mark.parametrize("n_neighbors", [0, 1, 32, 129, 1024])
@pytest.mark.parametrize("half", [False, True])
def test_gpu_layout(n_factors, n_neighbors, half):
    layout = gpu_layout(n_factors, n_neighbors, half)
    assert layout.lanes in (8, 16, 32)
    assert layout.factors % 4 == layout.near % 4 == 0
    for rows in layout.major, layout.minor:
        assert n_factors <= layout.lanes * layout.factors <= (1 + rows.half) * (rows.stride - EXTRA)
        assert rows.stride % 32 == 0  # a 128-byte line
    assert n_neighbors <= layout.slots < n_neighbors + 4 * layout.lanes and (n_neighbors or not layout.near)


@pytest.mark.parametrize("walk", ["users", "items"])
def test_sides_and_back(walk):
    """Only the minor side is rounded."""
    state = problem(5, 3, shape=(6, 9)).state
    layout = gpu_layout(5, 3, True)
    P, Q = states.pack_sides(state, layout, walk)
    assert (len(P), len(Q)) == ((7, 10) if walk == "users" else (10, 7))
    _, influence, _ = neighborhood(state, layout)
    back = states.unpack(P, Q, influence, layout, walk, state.neighbors)
    rounded = "item_factors" if walk == "users" else "user_factors"
    for name in state._fields:
        before, after = getattr(state, name), getattr(back, name)
        np.testing.assert_array_equal(after, before.astype(np.float16) if name == rounded else before)


def test_precision():
    """auto, single, half: with few ratings, and with many."""
    for n, expected in ((RULES.half_from - 1, [False, False, True]), (RULES.half_from, [True, False, True])):
        assert [is_half(precision, True, n) for precision in PRECISIONS] == expected
    assert [is_half(precision, False, RULES.half_from) for precision in PRECISIONS[:2]] == [False, False]
    with pytest.raises(ParameterError, match="precision='half' needs a GPU; .* Use 'auto' or 'single'"):
        is_half("half", False, 0)
    with pytest.raises(ValueError, match="single precision"):
        cpu_layout(3, 0, True)


def test_first_factors_do_not_repeat_after_2_to_the_32():
    """A 64-bit counter: 2**25 rows of 128 factors need 2**32 numbers."""
    own = key(4, Keyed.FIRST_FACTORS[0])
    first, second = ([float(first_factor(own, np.uint64(high + n))) for n in range(64)] for high in (0, 2**32))
    assert len({*first, *second}) == 128


def test_start_factors_do_not_depend_on_their_number():
    few, many = np.empty((3, 5), np.float32), np.empty((900, 5), np.float32)
    states.start_factors(key(4, Keyed.FIRST_FACTORS[0]), few)
    states.start_factors(key(4, Keyed.FIRST_FACTORS[0]), many)
    np.testing.assert_array_equal(few, many[:3])
    other = np.empty((900, 5), np.float32)
    states.start_factors(key(5, Keyed.FIRST_FACTORS[0]), other)
    assert (other != many).mean() > 0.99
    assert len(np.unique(many)) > 0.99 * many.size  # no two numbers have equal bits
    assert abs(many.mean()) < 0.1 * SPREAD and abs(many.std() / SPREAD - 1) < 0.03
    assert np.abs(many).max() <= 1.7321 * SPREAD and abs(np.corrcoef(many.T)[0, 1]) < 0.15


@pytest.mark.parametrize("biases", [True, False])
def test_start_state(biases):
    baseline = np.array([0.5, 0.0, -0.25]), np.array([0.0, 0.125])
    neighbors = np.array([[1], [0]], np.int32)
    data = SimpleNamespace(baseline=baseline, history=History(*(np.empty(0),) * 4))
    plan = SimpleNamespace(biases=biases, seed=1)
    model = cpu.DeviceModel.begin(plan, data, cpu_layout(4, 1), "items", neighbors)
    of_model, state = (model.near, *model.parameters[2:]), model.state()
    for factors, extras, base in (
        (state.user_factors, state.user_extras, baseline[0]),
        (state.item_factors, state.item_extras, baseline[1]),
    ):
        np.testing.assert_array_equal(extras[:, BASE], base)
        np.testing.assert_array_equal(extras[:, BIAS], base if biases else 0)
        assert not extras[:, SQUARES].any() and (factors.any(axis=1) == (base != 0)).all()
    assert state.influence.shape == (2, 2, 1) and not state.influence.any()
    np.testing.assert_array_equal(state.neighbors, neighbors)
    for own, packed in zip(of_model, states.pack_neighborhood(neighbors, None, baseline[1], cpu_layout(4, 1))):
        np.testing.assert_array_equal(own, packed)
    near, influence, offsets = states.pack_neighborhood(neighbors, None, baseline[1], gpu_layout(4, 1))
    for none_yet, packed in zip((near, influence, offsets), neighborhood(state, gpu_layout(4, 1))):
        np.testing.assert_array_equal(none_yet, packed)
        assert none_yet.dtype == packed.dtype
    assert (state.user_factors[2] != state.item_factors[1]).all()  # separate random streams


def test_a_state_that_is_kept_stays_as_it_was():
    """The best state is a copy.

    Training continues, and 32 neighbours fill their slots without padding, so that nothing else copies them.
    """
    layout, rng = cpu_layout(4, 32), np.random.default_rng(0)
    packed = rng.normal(size=(7, 2 * layout.slots)).astype(np.float32)
    kept = states.unpack_influence(packed, layout)
    before = kept.copy()
    packed += 1.0
    np.testing.assert_array_equal(kept, before)
