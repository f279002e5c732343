"""Kernels of the thresholding against their CPU twins and LAPACK; small inputs for the simulator."""

import numpy as np
import pytest
from support import SIMULATED, thinned

from svt import inputs, naive

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:.*encountered")]

from gpukit._cuda import cuda
from gpukit.device import Device
from gpukit.svt import cpu, gpu, singular_value_threshold
from gpukit.svt import plan as plans
from gpukit.svt.kernels import bidiagonal as bidiagonal_kernels
from gpukit.svt.kernels import bulge_chasing as chase_kernels
from gpukit.svt.twins import bidiagonal as bidiagonal_twins
from gpukit.svt.twins import bulge_chasing as chase_twins

CASES = {
    "tall": lambda rng: rng.normal(size=(1, 5, 4)),
    "wide": lambda rng: rng.normal(size=(1, 3, 9)),
    "square, a zero": lambda rng: rng.normal(size=(2, 8, 8)) * np.array([1, 0])[:, None, None],
    "deficient": lambda rng: inputs.low_rank(9, 7, 2, 0.0, rng)[None],
    "nearly low-rank": lambda rng: inputs.low_rank(10, 10, 2, 1e-3, rng)[None],
    "repeated": lambda rng: inputs.rotated(np.repeat([2.0, 1.0], 3), 6, 6, rng)[None],
    "zeros": lambda rng: inputs.without([0, 3], [2], 6, 7, rng)[None],
    "diagonal": lambda rng: np.diag([1.0, 5, 3])[None],
    "33 x 7": lambda rng: rng.normal(size=(1, 33, 7)),
    "18 x 18": lambda rng: rng.normal(size=(1, 18, 18)),
    "one row": lambda rng: rng.normal(size=(2, 1, 6)),
    "two": lambda rng: rng.normal(size=(3, 2, 2)),
    "one number": lambda rng: rng.normal(size=(1, 1, 1)),
}
BOUND = {np.float32: 1e-5, np.float64: 1e-12}
dtypes = pytest.mark.parametrize("dtype", BOUND)
ORDERS = ["forward", "reversed"] if SIMULATED else ["as they come"]
orders = pytest.mark.parametrize("order", ORDERS)


def threshold(X, lam, whole, cap=None):
    """Return (out, values, ranks) of the kernels."""
    out = cuda.to_device(np.full_like(X, np.nan))
    cap = None if cap is None else cuda.to_device(cap)
    values, ranks = gpu.threshold(cuda.to_device(X), cuda.to_device(lam), out, whole, cap)
    return out.copy_to_host(), values.copy_to_host(), ranks


def check(X, lam, whole=True, cap=None):
    """The kernels' result equals LAPACK's and the twins', except for rounding."""
    out, values, ranks = threshold(X, lam, whole, cap)
    twin = np.full_like(X, np.nan)
    twin_values, twin_ranks = cpu.threshold(X, lam, twin, whole, cap)
    parts = naive.decompose(X)
    right = [
        naive.thresholded(*part, bound, None if cap is None else cap[k])
        for k, (part, bound) in enumerate(zip(parts, lam.astype(np.float64)))
    ]
    size, bound = max(S[0] for _, S, _ in parts), BOUND[X.dtype.type]
    assert abs(out - np.array(right)).max() <= bound * size and abs(out - twin).max() <= bound * size
    if whole:
        assert abs(values - np.array([S for _, S, _ in parts])).max() <= bound * size
        assert abs(values - twin_values).max() <= bound * size
    np.testing.assert_array_equal(ranks, twin_ranks)


@pytest.mark.parametrize("name, dtype", thinned(CASES, [np.float32, np.float64], share=2))
def test_threshold_slices(name, dtype):
    X = np.ascontiguousarray(CASES[name](np.random.default_rng(2)), dtype)
    lam = (0.2 * np.array([S[0] for _, S, _ in naive.decompose(X)])).astype(dtype)
    check(X, lam, whole=dtype == np.float64)


def test_lam_0_and_caps():
    X = np.random.default_rng(3).normal(size=(4, 4, 3))
    check(X[:1], np.zeros(1))
    check(X, np.array([0, 0, 1.0, 9]), cap=np.array([0, 2, 3, 3], np.int32))


@dtypes
def test_values_alone(dtype, monkeypatch):
    """Without out there are no products and the values are equal; batches of two."""
    X = np.random.default_rng(6).normal(size=(5, 4, 3)).astype(dtype)
    there, lam = cuda.to_device(X), cuda.to_device(np.ones(5, dtype))
    both = gpu.Thresholding(there, lam, cuda.device_array(X.shape, dtype), whole=True)
    both.run()
    monkeypatch.setattr(gpu, "slices_at_once", lambda *_: 1)
    work = gpu.Thresholding(there, lam, None, whole=True)
    work.run()
    np.testing.assert_array_equal(there.copy_to_host(), X)
    np.testing.assert_array_equal(work.values.copy_to_host(), both.values.copy_to_host())
    np.testing.assert_array_equal(work.fetch_ranks(), both.fetch_ranks())


def test_denormal_numbers():
    X = (np.random.default_rng(3).normal(size=(2, 4, 5)) * 1e-44).astype(np.float32)
    out, _, _ = threshold(X, np.zeros(2, np.float32), False)
    assert abs(out.astype(np.float64) - X).max() <= (9 if SIMULATED else 30) * np.finfo(np.float32).smallest_subnormal


@orders
@pytest.mark.parametrize(
    "lanes, count, pitch, warps, shared",
    [
        (8, 2, 24, 1, True),
        (8, 2, 16, 3, True),
        (16, 1, 16, 2, True),
        (32, 1, 32, 2, False),
        (32, 2, 64, 1, False),
    ],
)
def test_blocks_of_all_kinds(lanes, count, pitch, warps, shared, order, monkeypatch):
    """Few and many lanes a row, more than columns, one warp and three, slices in shared and in global memory."""
    monkeypatch.setenv("GPUKIT_SIM_ORDER", order)
    how = plans.Plan(lanes, count, pitch, warps, 10 * pitch * 8 if shared else 0, (1, 8) if shared else (1, 16))
    monkeypatch.setattr(gpu, "plan", lambda *_: how)
    rng = np.random.default_rng(4)
    check(rng.normal(size=(1, 7, 5)), np.full(1, 0.5))
    check(rng.normal(size=(1, 6, 10)), np.full(1, 0.5))


def test_slices_too_large_for_shared_memory(monkeypatch):
    monkeypatch.setattr(gpu, "shared_memory", lambda: 4500)
    how = gpu.layout((1, 6, 50), np.float64)
    assert how.shared == 0 and how.tile == (1, 8)
    check(np.random.default_rng(4).normal(size=(1, 6, 50)), np.full(1, 0.5))


@pytest.mark.parametrize(
    "case, order", thinned([(7, 3, 2), (7, 2, 1), (5, 1, 2), (4, 3, 9), (1, 3, 9)], ORDERS, share=len(ORDERS))
)
def test_batches_take_turns(case, order, monkeypatch):
    """A Scratch is reused by fewer slices than its capacity; old contents have no effect."""
    slices, streams, at_once = case
    monkeypatch.setenv("GPUKIT_SIM_ORDER", order)
    how = gpu.layout((1, 3, 2), np.float64)
    monkeypatch.setattr(gpu, "STREAMS", streams)
    monkeypatch.setattr(gpu, "WORKSPACE", plans.workspace_of(2, 3, np.float64, how) * streams * at_once + 8)
    assert gpu.slices_at_once((slices, 3, 2), np.float64, how) <= at_once
    check(np.random.default_rng(5).normal(size=(slices, 3, 2)), np.linspace(0, 2, slices))


@pytest.mark.parametrize("rotations, sweeps, launches", [(9, 100, 40), (1000, 2, 40), (1000, 1, 60), (20, 3, 40)])
def test_full_tables_are_launched_again(rotations, sweeps, launches, monkeypatch):
    monkeypatch.setattr(plans, "rotation_capacity", lambda p: (rotations, sweeps))
    for module in (gpu, cpu):
        monkeypatch.setattr(module, "LAUNCHES", launches)
    check(np.random.default_rng(6).normal(size=(2, 8, 9)), np.full(2, 0.5))


def test_a_thresholding_is_run_again():
    """Each run reads the current X, lam and cap."""
    rng = np.random.default_rng(7)
    first, second = rng.normal(size=(2, 3, 4, 3))
    X, lam, cap = cuda.to_device(first), cuda.to_device(np.zeros(3)), cuda.to_device(np.full(3, 3, np.int32))
    out = cuda.device_array(first.shape, first.dtype)
    work = gpu.Thresholding(X, lam, out, True, cap)
    for slices, bound, most in ((first, 0.0, 3), (second, 0.5, 3), (first, 0.1, 2)):
        X.copy_to_device(slices)
        lam.copy_to_device(np.full(3, bound))
        cap.copy_to_device(np.full(3, most, np.int32))
        work.run()
        parts = naive.decompose(slices)
        expected = np.array([naive.thresholded(*part, bound, most) for part in parts])
        np.testing.assert_allclose(out.copy_to_host(), expected, atol=1e-12)
        np.testing.assert_allclose(work.values.copy_to_host(), [S for _, S, _ in parts], atol=1e-12)
        assert (work.ranks.copy_to_host() <= most).all()


def launched(kernel, grid, block, shared, *arrays):
    """Return copies of the arrays after a launch."""
    there = [cuda.to_device(array) for array in arrays]
    gpu.with_shared_memory(kernel, grid, block, shared)(*there)
    return [array.copy_to_host() for array in there]


def run_both(twin, kernel, grid, block, shared, *arrays):
    """Return (arrays of the twin, arrays of the kernel)."""
    own = [array.copy() for array in arrays]
    twin(*own)
    return own, launched(kernel, grid, block, shared, *arrays)


def workspace(N, p, dtype):
    """Return d, e, scales, states, spans, turns, V, seats, weights: NaN or -1."""
    work = plans.buffers(N, p, dtype, np.empty)
    for array in work:
        array.fill(np.nan if array.dtype.kind == "f" else -1)
    return work


@orders
@dtypes
@pytest.mark.parametrize("shape", [(2, 6, 5), (1, 4, 11), (2, 1, 3), (1, 2, 2)])
def test_bidiagonalize_and_its_twin(shape, dtype, order, monkeypatch):
    monkeypatch.setenv("GPUKIT_SIM_ORDER", order)
    X, (p, q) = np.random.default_rng(8).normal(size=shape).astype(dtype), plans.sides(shape)
    d, e, scales, states, _, _, V, _, _ = workspace(len(X), p, dtype)
    kernel = bidiagonal_kernels.make_bidiagonalize(dtype, 8, 2, 24, 2, True)
    arrays = (X, d, e, scales, states, V)
    twin = [array.copy() for array in arrays]
    bidiagonal_twins.bidiagonalize(*twin)
    own = launched(kernel, len(X), 64, q * 24 * X.itemsize, *arrays, np.empty((1, 1), dtype))
    assert_same_bidiagonals(twin, own, 20 * BOUND[dtype])


def assert_same_bidiagonals(twin, own, bound):
    """Compare bidiagonalizations, equal except for the signs of V's rows, d and e."""
    np.testing.assert_array_equal(own[0], twin[0])
    np.testing.assert_array_equal(own[3], twin[3])  # scales
    np.testing.assert_array_equal(own[4], twin[4])  # states
    for k in range(len(own[0])):
        (d, e, V), (own_d, own_e, own_V) = ((made[1][:, k], made[2][:, k], made[5][k]) for made in (twin, own))
        signs = np.sign((V * own_V).sum(axis=1))
        np.testing.assert_allclose(signs[:, None] * own_V, V, atol=bound)
        np.testing.assert_allclose(abs(own_d), abs(d), atol=bound)
        gram, own_gram = (naive.bidiagonal(*both).T @ naive.bidiagonal(*both) for both in ((d, e), (own_d, own_e)))
        np.testing.assert_allclose(signs[:, None] * own_gram * signs, gram, atol=20 * bound)


@dtypes
@pytest.mark.parametrize("sweeps, rotations", [(40, 200), (3, 200), (40, 12)])
def test_chase_and_its_twin(sweeps, rotations, dtype):
    """Five slices in blocks of two, one diagonal, one of zeros; with large and small tables."""
    rng, (N, p) = np.random.default_rng(9), (5, 7)
    d, e = rng.normal(size=(p, N)).astype(dtype), rng.normal(size=(p + 1, N)).astype(dtype)
    e[0], e[p], e[:, 1:3], d[:, 2], e[4, 3] = 0, 0, 0, 0, 0
    states = np.array([[0, p - 1, 0]] * N, np.int32)
    spans, turns = np.full((N, sweeps), -1, np.int32), np.full((N, rotations, 2), -1, dtype)
    twin, own = run_both(
        chase_twins.chase,
        chase_kernels.make_chase(dtype, 2),
        3,
        2,
        (2 * p + 1) * 2 * d.itemsize,
        d,
        e,
        states,
        spans,
        turns,
    )
    assert (own[2][:, 1] > 0).any() == (sweeps == 3 or rotations == 12)
    if SIMULATED or dtype == np.float64:
        np.testing.assert_array_equal(own[2], twin[2])
        np.testing.assert_array_equal(own[3], twin[3])
        for here, there in zip(twin, own):
            np.testing.assert_allclose(there, here, atol=100 * BOUND[dtype])
    elif sweeps == 40 and rotations == 200:  # approximate roots may change the number of sweeps
        found, expected = (np.sort(abs(arrays[0]), axis=0) for arrays in (own, twin))
        np.testing.assert_allclose(found, expected, atol=BOUND[dtype])


@dtypes
def test_a_chase_that_has_ended_changes_nothing(dtype):
    """A second launch reports no sweeps."""
    d, e = np.arange(1, 15, dtype=dtype).reshape(7, 2), np.zeros((8, 2), dtype)
    states, spans = np.array([[0, 0, 5], [0, 6, 5]], np.int32), np.zeros((2, 9), np.int32)
    turns = np.zeros((2, 9, 2), dtype)
    twin, own = run_both(
        chase_twins.chase,
        chase_kernels.make_chase(dtype, 2),
        1,
        2,
        (2 * 7 + 1) * 2 * d.itemsize,
        d,
        e,
        states,
        spans,
        turns,
    )
    for arrays in (twin, own):
        np.testing.assert_array_equal(arrays[0], d)
        np.testing.assert_array_equal(arrays[2], [[0, 0, 0], [0, 0, 0]])


@dtypes
@pytest.mark.parametrize("p", [3, 35])
def test_rotate_and_its_twin(p, dtype):
    """Pairs of sweeps and single sweeps; more rows than lanes, longer spans than a warp."""
    rng, last = np.random.default_rng(10), p - 1
    pairs = [(0, last), (0, last), (0, last), (0, last - 1), (1, last), (1, last), (1, 2), (0, 1), (0, 1), (0, last)]
    count = sum(hi - lo for lo, hi in pairs)
    angles = rng.normal(size=(2, count + 3))
    turns = np.stack([np.cos(angles), np.sin(angles)], axis=2).astype(dtype)
    spans = np.array([[lo + (hi << 16) for lo, hi in pairs]] * 2, np.int32)
    states, V = np.array([[0, 0, len(pairs)], [0, 0, 3]], np.int32), rng.normal(size=(2, p, p)).astype(dtype)
    twin, own = run_both(
        chase_twins.rotate,
        chase_kernels.make_rotate(dtype),
        (2, -(-p // 32)),
        32,
        32 * p * V.itemsize,
        states,
        spans,
        turns,
        V,
    )
    np.testing.assert_allclose(own[3], twin[3], atol=BOUND[dtype])
    np.testing.assert_allclose(own[3][0], naive.turned(V[0], pairs, turns[0]), atol=BOUND[dtype])


@orders
@dtypes
@pytest.mark.parametrize("wanted", [False, True])
def test_arrange_and_its_twin(wanted, dtype, order, monkeypatch):
    """Random numbers, ties, zeros, rounding errors; caps and thresholds."""
    monkeypatch.setenv("GPUKIT_SIM_ORDER", order)
    rng, (N, p) = np.random.default_rng(11), (5, 37)
    d = rng.normal(size=(p, N)).astype(dtype)
    d[:, 1], d[:, 2], d[:, 3] = rng.integers(-3, 4, p), 0, 10.0 ** -np.arange(p)
    lam, cap = np.array([0.1, 0, 0, 0, 0.2], dtype), np.array([p, 9, p, p, 0], np.int32)
    states = np.array([[0, 0, 7]] * 3 + [[2, 5, 7], [0, 0, 7]], np.int32)
    results = (
        np.full((N, p), -1, np.int32),
        np.zeros((N, p), dtype),
        np.full(N, -1, np.int32),
        np.zeros((N, p if wanted else 0), dtype),
    )
    twin, own = run_both(
        chase_twins.arrange,
        chase_kernels.make_arrange(dtype),
        N,
        32,
        0,
        d,
        states,
        np.full(N, 4, dtype),
        lam,
        cap,
        *results,
    )
    for place in (5, 7):
        np.testing.assert_array_equal(own[place], twin[place])
    for place in (6, 8):
        np.testing.assert_allclose(own[place], twin[place], rtol=BOUND[dtype])


@orders
@dtypes
@pytest.mark.parametrize(
    "shape, rows_own, step",
    [((3, 9, 6), 1, 8), ((1, 5, 67), 2, 16), ((1, 40, 3), 1, 16), ((1, 1, 1), 1, 8), ((1, 10, 11), 1, 8)],
)
def test_multiply_and_its_twin(shape, rows_own, step, dtype, order, monkeypatch):
    monkeypatch.setenv("GPUKIT_SIM_ORDER", order)
    rng, (p, q) = np.random.default_rng(12), plans.sides(shape)
    X, V = rng.normal(size=shape).astype(dtype), rng.normal(size=(shape[0], p, p)).astype(dtype)
    seats = np.stack([rng.permutation(p).astype(np.int32) for _ in X])
    weights, ranks = rng.random((len(X), p)).astype(dtype), np.array([p, 0, -1], np.int32)[: len(X)]
    rows, kernel = 32 * rows_own, chase_kernels.make_multiply(dtype, rows_own, -(-p // 8), step)
    space = (p * (rows + 1) + step * (p + 1)) * X.itemsize
    twin, own = run_both(
        chase_twins.multiply,
        kernel,
        (len(X), -(-q // rows)),
        chase_kernels.BLOCK,
        space,
        X,
        V,
        seats,
        weights,
        ranks,
        np.full_like(X, np.nan),
    )
    np.testing.assert_allclose(own[5], twin[5], atol=100 * BOUND[dtype])


@pytest.mark.parametrize("whole", [False, True])
def test_host_slices_are_thresholded_on_a_gpu_and_come_back(whole, monkeypatch):
    monkeypatch.setattr("gpukit.device.memory._free_on_gpu", lambda: 1 << 40)
    X = np.random.default_rng(0).normal(size=(2, 4, 3))
    found = singular_value_threshold(X, 0.5, device=Device("cuda", 0, "a GPU"), return_values=whole)
    out = found[0] if whole else found
    assert isinstance(out, np.ndarray) and np.abs(out - [one for one, _ in naive.threshold(X, 0.5)]).max() < 1e-12
    assert not whole or np.abs(found[1] - np.linalg.svd(X)[1]).max() < 1e-12
