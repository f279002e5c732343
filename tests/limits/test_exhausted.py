"""A GPU that runs out of memory at any allocation: one line with sizes, no leak, and the next attempt succeeds."""

import copy
import gc
import weakref

import numpy as np
import pytest
from support import small_launches

pytestmark = [pytest.mark.kernel, pytest.mark.simulator, pytest.mark.filterwarnings("ignore")]

from gpukit._cuda import cuda
from gpukit.device import Device, gpu_arrays
from gpukit.errors import DeviceMemoryError
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization import gpu as factorization
from gpukit.factorization import gpu as preparing
from gpukit.neighbors import SimLSH
from gpukit.ranking import RankSVM
from gpukit.ranking import gpu as ranking
from gpukit.ratings import Ratings
from gpukit.sorting import segmented_argsort
from gpukit.svt import singular_value_threshold

GPU = Device("cuda", 0, "simulator", (9, 0))
LINE = r"ran out of memory on cuda:0 \(simulator\) \([\d.]+ GiB more asked for, 8\.00 GiB free\)\. Use --device cpu"
MOST = 8  # refused allocations per computation, evenly spaced


class OutOfMemory(Exception):
    """numba's exception for a driver call, with the notes of gpukit's pool."""

    def __init__(self, size):
        super().__init__("[2] Call to cuMemAllocFromPoolAsync results in CUDA_ERROR_OUT_OF_MEMORY")
        self.bytes_asked = size


class Allocator:
    """Counts the created device arrays, refuses one of them, and tracks the existing ones."""

    def __init__(self, monkeypatch):
        self.made, self.refused = [], None
        for name in ("device_array", "to_device"):
            monkeypatch.setattr(cuda, name, self._watched(getattr(cuda, name)))

    def _watched(self, make):
        def made(first, *arguments, **options):
            if len(self.made) == self.refused:
                self.refused = None
                raise OutOfMemory(1 << 30)
            array = make(first, *arguments, **options)
            self.made.append(weakref.ref(array))
            return array

        return made

    def begin(self, refused=None):
        """Count from 0; refuse the allocation with this number."""
        self.made, self.refused = [], refused

    def alive(self):
        """Return the number of existing arrays since `begin`."""
        gc.collect()
        return sum(one() is not None for one in self.made)


@pytest.fixture
def allocator(monkeypatch):
    small_launches(monkeypatch)
    monkeypatch.setattr(gpu_arrays, "BLOCKS_A_PROCESSOR", 1)
    monkeypatch.setattr(ranking, "walk_blocks", lambda: 2)
    monkeypatch.setattr(factorization, "most_workers", lambda layout: 4)
    monkeypatch.setattr(factorization, "CODE_BLOCKS", 1)
    monkeypatch.setattr(preparing, "PARTS", 1)
    return Allocator(monkeypatch)


def rated():
    """Eleven ratings of four users and three items."""
    users, items = np.nonzero(np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1], [1, 1, 1]]))
    values = np.arange(11, dtype=np.float32) % 5 + 1
    return Ratings(users.astype(np.int32), items.astype(np.int32), values, np.arange(4), np.arange(3))


def trained(kind, **options):
    """The fit and the methods of fitted models."""
    model = kind(n_epochs=1, device=GPU, random_state=0, **options)
    return lambda: model.fit(rated()).user_bias_


def answered(ask):
    model = MatrixFactorization(1, n_epochs=1, device=GPU, random_state=0).fit(rated())

    def work():
        vars(model).pop("_sessions", None)
        return ask(model)

    return work


def listed():
    model = MatrixFactorization(1, n_epochs=1, device=GPU, random_state=0).fit(rated()).fit_lists()

    def work():
        vars(model).pop("_sessions", None)
        return model.recommend(n=2, exclude_seen=False)[1]

    return work


def documents():
    rng = np.random.default_rng(0)
    return rng.normal(size=(6, 3)), np.array([2, 1, 0, 1, 0, 1]), np.array([0, 0, 0, 1, 1, 1])


def ranked(**options):
    model = RankSVM(device=GPU, max_iter=2, **options)
    X, y, qid = documents()
    return lambda: model.fit(X, y, qid=qid).coef_


WORK = {
    "MatrixFactorization": lambda: trained(MatrixFactorization, n_factors=1),
    "LSHMF": lambda: trained(LSHMF, n_factors=1, n_neighbors=1, lsh_p=1, lsh_q=1, lsh_bits=2),
    "ALS": lambda: trained(MatrixFactorization, n_factors=1, solver="als"),
    "Hogwild": lambda: trained(MatrixFactorization, n_factors=1, solver="hogwild"),
    "partial_fit": lambda: answered(lambda model: copy.deepcopy(model).partial_fit(([9], [0]), [5.0]).user_bias_),
    "predict": lambda: answered(lambda model: model.predict((np.arange(4), np.arange(4)))),
    "evaluate": lambda: answered(lambda model: np.array(list(model.evaluate(rated()).values()))),
    "recommend": lambda: answered(lambda model: model.recommend(n=2, exclude_seen=False, by="rating")[1]),
    "lists": lambda: listed(),
    "SimLSH": lambda: lambda: SimLSH(1, p=1, q=1, bits=2, device=GPU, random_state=0).fit(rated()).scores_,
    "RankSVM": lambda: ranked(),
    "RankSVM, p-swx": lambda: ranked(solver="p-swx"),
    "sorting": lambda: lambda: segmented_argsort([3.0, 1, 2], [0, 1, 3], device=GPU),
    "thresholding": lambda: lambda: singular_value_threshold(np.eye(3)[None], 0.5, device=GPU),
}


SHORT = "MatrixFactorization", "predict", "evaluate", "sorting", "thresholding"


@pytest.mark.parametrize("name", [n if n in SHORT else pytest.param(n, marks=pytest.mark.slow) for n in WORK])
def test_any_allocation_may_fail(name, allocator):
    work = WORK[name]()
    allocator.begin()
    expected, count = np.array(work()), len(allocator.made)
    kept = allocator.alive()
    for refused in sorted({round(k) for k in np.linspace(0, count - 1, MOST)}):
        allocator.begin(refused)
        with pytest.raises(DeviceMemoryError, match=LINE):
            work()
        assert allocator.refused is None, "the refusal was not noticed"
        assert allocator.alive() <= kept, f"refused number {refused} of {count}"
    allocator.begin()
    np.testing.assert_array_equal(work(), expected)
    assert allocator.alive() == kept


@pytest.mark.slow
def test_the_cpu_learns_lists_if_an_allocation_fails(allocator):
    here, model = (
        MatrixFactorization(1, n_epochs=1, device=device, random_state=0).fit(rated()) for device in ("cpu", GPU)
    )
    model._rated  # noqa: B018  (copies the history to the host)
    expected = here.fit_lists()._head.item_factors

    def learn():
        return copy.deepcopy(model).fit_lists()._head.item_factors

    allocator.begin()
    learn()
    count, kept = len(allocator.made), allocator.alive()
    for refused in sorted({round(k) for k in np.linspace(0, count - 1, MOST)}):
        allocator.begin(refused)
        with pytest.warns(UserWarning, match="the CPU learns them"):
            np.testing.assert_array_equal(learn(), expected)
        assert allocator.refused is None and allocator.alive() <= kept, f"refused number {refused} of {count}"
