"""Documents on a GPU: read there, and copied to the host only if necessary."""

import numpy as np
import pytest
from base.held import Held

from ranking import inputs, sessions

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:.* encountered")]

from gpukit._cuda import cuda
from gpukit.base import arrays
from gpukit.device import Device
from gpukit.errors import DataError
from gpukit.ranking import RankSVM, gpu
from gpukit.ranking.kernels import matrix as kernels
from gpukit.ranking.twins import matrix as twins

GPU = Device("cuda", 0, "a GPU", (9, 0))
SLOW = pytest.mark.slow
PLACES = pytest.param("the other GPU", marks=SLOW), "on the CPU", pytest.param("not in C order", marks=SLOW)


@pytest.fixture(autouse=True)
def a_small_gpu(monkeypatch):
    monkeypatch.setattr(arrays, "device_view", lambda array: array.there)
    monkeypatch.setattr("gpukit.device.memory._free_on_gpu", lambda: 1 << 40)
    monkeypatch.setattr("gpukit.device.gpu", lambda index: GPU)
    monkeypatch.setattr(gpu, "walk_blocks", lambda: 1)
    sessions.small_blocks(monkeypatch)


def documents(n, dtype=np.float32):
    at = inputs.queries([9, 1, 13], 3)
    return inputs.features(at, n).astype(dtype), at.y, np.repeat([5, 2, 9], [9, 1, 13])


OPTIONS = {"C": 1.0, "device": GPU, "precondition": False, "max_iter": 1, "eps": 0.5}


def trained(X, y, qid, **options):
    options = OPTIONS | options
    return RankSVM(**options).prepare(X, y, qid), RankSVM(**options).fit(X, y, qid)


@pytest.mark.parametrize(
    "n, dtype", [(4, np.float32), pytest.param(6, np.float32, marks=SLOW), pytest.param(3, np.float64, marks=SLOW)]
)
def test_it_is_read_where_it_lies(n, dtype):
    X, y, qid = documents(n, dtype)
    held = Held(X)
    run, model = trained(held, y, qid)
    assert not held.seen and (n % 4 or run.session.matrix.X is held.there)
    expected = RankSVM(**OPTIONS).fit(X, y, qid)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_allclose(model.predict(held), expected.predict(X), rtol=0, atol=1e-12)
    assert not held.seen


@pytest.mark.slow
@pytest.mark.parametrize(
    "why", [pytest.param("rows in another order", marks=SLOW), pytest.param("scaled", marks=SLOW), *PLACES]
)
def test_what_cannot_stay_is_copied(why):
    (X, y, qid), options = documents(4), {"scale": "minmax"} if why == "scaled" else {}
    X = np.asfortranarray(X) if why == "not in C order" else X
    qid = qid[::-1] % 3 + np.arange(len(qid)) % 2 if why == "rows in another order" else qid
    options |= {"device": "cpu"} if why == "on the CPU" else {}
    held = Held(X, int(why == "the other GPU"))
    run, model = trained(held, y, qid, **options)
    assert held.seen and isinstance(run.problem.X, np.ndarray)
    np.testing.assert_array_equal(model.coef_, RankSVM(**OPTIONS | options).fit(X, y, qid).coef_)


@pytest.mark.parametrize("value, shown", [(np.nan, "NaN"), (-np.inf, "-inf")])
def test_what_is_not_finite_is_found_there(value, shown):
    X, y, qid = documents(4)
    X[[11, 20], [2, 0]] = value
    with pytest.raises(DataError, match=rf"X\[11, 2\] is {shown}, which"):
        trained(Held(X), y, qid)


@pytest.mark.slow
def test_too_wide_for_registers(monkeypatch):
    monkeypatch.setattr(gpu, "LIMIT", 3)
    X, y, qid = documents(4)
    run, _ = trained(Held(X), y, qid)
    assert isinstance(run.session.matrix, gpu.Sparse)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("runs", [1, 3, 50])
def test_first_faults_and_its_twin(runs, dtype):
    X = np.ones((40, 5), dtype)
    X[[7, 7, 8, 33], [4, 1, 0, 2]] = np.nan, np.inf, -np.inf, np.nan
    found, twin = np.full(runs, 40), np.full(runs, 40)
    there = cuda.to_device(found)
    kernels.first_faults[2, 32](cuda.to_device(X), there)
    twins.first_faults(X, twin)
    np.testing.assert_array_equal(there.copy_to_host(), twin)
    share = -(-40 // runs)
    assert [min((row for row in (7, 8, 33) if row // share == run), default=40) for run in range(runs)] == list(twin)


def test_pad_rows_and_its_twin():
    X = np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32)
    there, twin = cuda.to_device(np.full((7, 8), np.nan, np.float32)), np.full((7, 8), np.nan, np.float32)
    kernels.pad_rows[2, 32](cuda.to_device(X), there)
    twins.pad_rows(X, twin)
    np.testing.assert_array_equal(there.copy_to_host(), twin)
    np.testing.assert_array_equal(twin, np.pad(X, ((0, 0), (0, 3))))
