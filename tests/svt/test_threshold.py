"""`singular_value_threshold`: inputs, results, errors."""

import numpy as np
import pytest

import gpukit
from gpukit.errors import DataError, DeviceError, GpukitError, ParameterError
from gpukit.svt import plan as plans
from gpukit.svt import singular_value_threshold
from svt import inputs, naive

RNG = np.random.default_rng(0)
ROOMS = [size << 10 for size in (48, 64, 99, 163, 227)]  # largest shared memory of a block
LACKING = {
    *((512, 4, room) for room in ROOMS[:2]),
    *((512, 8, room) for room in ROOMS[:4]),
}  # side, bytes of a number, shared memory


def threshold(X, lam, **options):
    """Return singular_value_threshold on the CPU."""
    return singular_value_threshold(X, lam, device="cpu", **options)


@pytest.mark.parametrize("dtype, given", [(np.float32, np.float32), (np.float64, np.float64), (np.float64, np.int64)])
def test_slices_are_thresholded(dtype, given):
    X = (4 * RNG.normal(size=(3, 6, 9))).astype(given)
    before = X.copy()
    lam = np.array([0.0, 1.0, 3.0])
    Y, values, ranks = threshold(X, lam, return_values=True)
    expected, S = (np.array(part) for part in zip(*naive.threshold(X, lam)))
    np.testing.assert_allclose(Y, expected, atol=1e-5 if dtype == np.float32 else 1e-12)
    np.testing.assert_allclose(values, S, rtol=1e-5 if dtype == np.float32 else 1e-12)
    np.testing.assert_array_equal(ranks, (S > lam[:, None]).sum(axis=1))
    assert Y.dtype == values.dtype == dtype and ranks.dtype == np.int32
    np.testing.assert_array_equal(X, before)
    assert gpukit.singular_value_threshold is singular_value_threshold


def test_a_number_serves_all_slices_and_any_memory_order_does():
    X = np.asfortranarray(RNG.normal(size=(4, 5, 6)))
    np.testing.assert_allclose(threshold(X, 0.5), threshold(X.copy("C"), np.full(4, 0.5)), atol=1e-15)
    np.testing.assert_allclose(threshold(X.transpose(0, 2, 1), 0.5), threshold(X, 0.5).transpose(0, 2, 1), atol=1e-13)


@pytest.mark.parametrize("shape", [(0, 4, 5), (3, 0, 5), (3, 4, 0)])
def test_nothing_gives_nothing(shape):
    Y, values, ranks = threshold(np.zeros(shape), 1.0, return_values=True)
    assert Y.shape == shape and values.shape == (shape[0], min(shape[1:])) and ranks.shape == (shape[0],)


@pytest.mark.parametrize(
    "X, lam, error, message",
    [
        (np.zeros((4, 5)), 1.0, DataError, "One matrix is X"),
        (np.zeros((2, 3, 3), complex), 1.0, DataError, "it is complex128"),
        (np.zeros((1, 513, 2)), 1.0, ParameterError, "at most 512 rows and columns.*numpy.linalg.svd"),
        (np.array([[[1.0, 2], [3, np.nan]]]), 1.0, DataError, r"X\[0, 1, 1\] is nan"),
        (np.array([[[1.0, -np.inf], [3, 4]]]), 1.0, DataError, r"X\[0, 0, 1\] is -inf"),
        (np.zeros((2, 3, 3)), -1.0, DataError, "contains -1.0"),
        (np.zeros((2, 3, 3)), [1.0, np.nan], DataError, "contains nan"),
        (np.zeros((2, 3, 3)), [1.0, 1.0, 1.0], DataError, r"a number or an array \(2,\)"),
        (np.zeros((2, 3, 3)), "much", DataError, "lam must be a number"),
    ],
)
def test_what_cannot_be_is_refused(X, lam, error, message):
    with pytest.raises(error, match=message):
        threshold(X, lam)


def test_what_is_masked_is_missing_not_a_number_like_others():
    X = np.ma.masked_greater(np.arange(12.0).reshape(2, 2, 3), 10)
    with pytest.raises(DataError, match=r"X\[1, 1, 2\] is nan"):
        threshold(X, 1.0)
    np.testing.assert_array_equal(threshold(X[:1], 1.0), threshold(X.data[:1], 1.0))
    with pytest.raises(DataError, match="lam must be finite"):
        threshold(X.data, np.ma.masked_less([0.5, 2.0], 1))
    with pytest.raises(DataError, match="X is no array"):
        threshold([[[1.0, 2.0], [3.0]]], 1.0)


def test_devices_are_those_of_the_library():
    with pytest.raises(ParameterError, match="device must be"):
        singular_value_threshold(np.zeros((1, 2, 2)), 1.0, device="tpu")
    if not gpukit.device.gpu_count():
        with pytest.raises(DeviceError, match="no CUDA GPU"):
            singular_value_threshold(np.zeros((1, 2, 2)), 1.0, device="cuda")


@pytest.mark.gpu
def test_both_devices_agree():
    X = RNG.normal(size=(3, 130, 140))
    for dtype, bound in ((np.float32, 1e-5), (np.float64, 1e-12)):
        here, there = (
            singular_value_threshold(X.astype(dtype), 3.0, device=device, return_values=True)
            for device in ("cpu", "cuda")
        )
        np.testing.assert_allclose(there[0], here[0], atol=10 * bound)
        np.testing.assert_allclose(there[1], here[1], atol=30 * bound)
        np.testing.assert_array_equal(there[2], here[2])
        alone = singular_value_threshold(X.astype(dtype), 3.0, device="cuda")  # by products
        np.testing.assert_allclose(alone, here[0], atol=10 * bound)
        assert (alone != there[0]).any()


@pytest.mark.gpu
@pytest.mark.parametrize("dtype, bound", [(np.float32, 1e-5), (np.float64, 1e-12)])
@pytest.mark.parametrize(
    "shape", [(900, 50, 50), (7, 64, 65), (5, 128, 100), (4, 33, 512), (3, 300, 200), (2, 512, 512)]
)
def test_large_slices_on_the_gpu(shape, dtype, bound):
    X = np.random.default_rng(1).normal(size=shape)
    X[1] = inputs.low_rank(*shape[1:], 3, 1e-3, np.random.default_rng(2))
    X = X.astype(dtype)
    Y, values, ranks = singular_value_threshold(X, 4.0, device="cuda", return_values=True)
    alone = singular_value_threshold(X, 4.0, device="cuda")
    for k in {0, 1, len(X) // 2, len(X) - 1}:
        ((expected, S),) = naive.threshold(X[k : k + 1], 4)
        assert np.linalg.norm(Y[k] - expected) <= bound * np.linalg.norm(X[k])
        assert np.linalg.norm(alone[k] - expected) <= bound * np.linalg.norm(X[k])
        assert abs(values[k] - S).max() <= bound * S[0] and ranks[k] == (S > 4).sum()


@pytest.mark.gpu
@pytest.mark.parametrize("dtype, bound", [(np.float32, 1e-5), (np.float64, 1e-12)])
@pytest.mark.parametrize("name", inputs.SLICES)
def test_awkward_slices_on_the_gpu(name, dtype, bound):
    X = inputs.slices(name, dtype)
    lam = np.array([0.1 * S[0] for _, S, _ in naive.decompose(X)], dtype)
    Y = singular_value_threshold(X, lam, device="cuda")
    for k, (expected, _) in enumerate(naive.threshold(X, lam)):
        assert np.linalg.norm(Y[k] - expected) <= bound * np.linalg.norm(X[k].astype(np.float64))


@pytest.mark.parametrize(
    "m, n, dtype",
    [
        (m, n, dtype)
        for m, n in ((1, 1), (5, 4), (50, 50), (64, 64), (7, 288), (128, 128), (300, 60), (512, 512))
        for dtype in (np.float32, np.float64)
    ],
)
@pytest.mark.parametrize("room", ROOMS)
def test_plans_fit(m, n, dtype, room):
    (p, q), size = plans.sides((1, m, n)), np.dtype(dtype).itemsize
    if (p, size, room) in LACKING:
        with pytest.raises(DeviceError, match=rf"side is 512 in .* this GPU has {room >> 10}\. Use .*the CPU"):
            plans.plan(p, q, dtype, room)
        return
    how = plans.plan(p, q, dtype, room)
    assert plans.bytes_of_multiply(p, how.tile, size)[1] <= room and plans.bytes_of_rotate(p, size) <= room
    assert p <= how.lanes * how.count <= how.pitch and how.pitch % how.lanes == 0
    assert how.lanes in (8, 16, 32) and 1 <= how.warps <= 32
    static = (how.warps * (how.lanes * how.count + 1) + how.lanes * how.count + 1) * size  # sums, total, parts
    assert how.shared in (0, q * how.pitch * size) and static <= 48 << 10
    assert how.shared + static <= room or how.shared == 0


def test_devices_with_less_shared_memory_hold_fewer_vectors_at_once():
    assert [plans.plan(512, 512, np.float32, room).tile for room in ROOMS[2:]] == [(1, 8), (1, 16), (2, 32)]
    assert plans.plan(50, 50, np.float32, 48 << 10).shared and not plans.plan(512, 512, np.float32).shared


def test_slices_that_do_not_converge_are_reported(monkeypatch):
    """A launch with capacity for few sweeps does not finish."""
    monkeypatch.setattr(plans, "rotation_capacity", lambda p: (2 * p, 2))
    X = np.random.default_rng(4).normal(size=(3, 9, 9))
    X[0] = np.eye(9)
    with pytest.raises(GpukitError, match="singular values of slice 1, and of 1 others of 3, did not converge"):
        singular_value_threshold(X, 0.1, device="cpu")


@pytest.mark.parametrize("p", [1, 2, 50, 512])
def test_there_is_room_for_sweeps(p):
    rotations, sweeps = plans.rotation_capacity(p)
    assert rotations >= p and sweeps >= 1  # a launch runs at least one sweep
    how = plans.plan(p, p, np.float32)
    buffers = plans.buffers(1, p, np.float32, np.empty)
    work = sum(array[0].nbytes if array.shape[0] == 1 else array[..., 0].nbytes for array in buffers)
    own = 0 if how.shared else p * how.pitch * 4
    assert 0 <= plans.workspace_of(p, p, np.float32, how) - work - own <= 4 * p + 32


@pytest.mark.parametrize("shape", [(3, 6, 9), (2, 9, 40), (2, 150, 140)])
@pytest.mark.parametrize("size", [1e-270, 4e307])
@pytest.mark.parametrize("share", [0.0, 1e-3, 0.3])
def test_ends_of_the_range(shape, size, share):
    """Return the oracle of scaled slices, scaled back, accurate to the spacing of the smallest numbers."""
    X = RNG.choice([-1.0, 1.0], size=shape) * RNG.uniform(0.5, 1.0, size=shape) * size
    power = -1000 if size > 1 else 1000
    near, ends = np.ldexp(X, power), np.finfo(np.float64)
    S = np.linalg.svd(near, compute_uv=False)
    with np.errstate(over="ignore"):
        lam = np.minimum(np.ldexp(share * S[:, 0], -power), ends.max)
    Y, values, ranks = singular_value_threshold(X, lam, device="cpu", return_values=True)
    alone = singular_value_threshold(X, lam, device="cpu")
    scaled = np.ldexp(lam, power)
    for k, (expected, own) in enumerate(naive.threshold(near, scaled)):
        bound = 1e-12 * np.linalg.norm(near[k]) + 9 * np.ldexp(ends.smallest_subnormal, power)
        assert np.linalg.norm(np.ldexp(Y[k], power) - expected) <= bound * len(own)
        assert np.linalg.norm(np.ldexp(alone[k], power) - expected) <= bound * len(own)
        with np.errstate(over="ignore"):
            right = np.ldexp(own, -power)
        np.testing.assert_allclose(values[k], right, rtol=1e-9, atol=1e-12 * size + 9 * ends.smallest_subnormal)
        assert ranks[k] == (own > scaled[k]).sum()


@pytest.mark.parametrize("shape", [(3, 150, 140), (3, 9, 40)])
def test_single_precision_near_the_end_of_its_range(shape):
    X = (RNG.choice([-1.0, 1.0], size=shape) * RNG.uniform(0.5, 1.0, size=shape)).astype(np.float32)
    X[1] *= np.float32(3e38)
    Y, values, _ = threshold(X, np.array([0.0, 1e38, 0.3]), return_values=True)
    expected, S = (np.array(part) for part in zip(*naive.threshold(X.astype(np.float64), np.array([0.0, 1e38, 0.3]))))
    size = np.array([1.0, 3e38, 1.0])[:, None]
    np.testing.assert_allclose(Y / size[..., None], expected / size[..., None], atol=2e-5)
    is_finite = S < np.finfo(np.float32).max
    np.testing.assert_allclose((values / size)[is_finite], (S / size)[is_finite], rtol=1e-4, atol=1e-4)
    assert np.isposinf(values[~is_finite]).all()


@pytest.mark.parametrize("size", [1e-320, 1e-272])
def test_slices_whose_squares_underflow_are_refused(size):
    X = np.ones((3, 4, 4))
    X[1] *= size
    with pytest.raises(DataError, match="multiply X and lam by a power of two"):
        singular_value_threshold(X, 0.0, device="cpu")
    X[1] = 0.0
    assert np.isfinite(singular_value_threshold(X, 0.0, device="cpu")).all()
