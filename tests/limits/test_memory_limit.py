"""Answers of a model on a GPU with little memory."""

import itertools
import weakref

import numpy as np
import pytest
from support import small_launches

pytestmark = [pytest.mark.kernel, pytest.mark.simulator, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

from gpukit import _driver
from gpukit._cuda import cuda
from gpukit.device import Device
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization import gpu as factorization
from gpukit.factorization import gpu as preparing
from gpukit.ratings import Ratings

GPU = Device("cuda", 0, "simulator", (9, 0))
SHAPE, N = (40, 30), 300
NAMED = {"n_factors": 4, "n_epochs": 1, "regularization": 0.02, "device": GPU, "random_state": 0}
KINDS = {
    "MatrixFactorization": (MatrixFactorization, {}),
    "LSHMF": (LSHMF, {"n_neighbors": 4, "lsh_p": 1, "lsh_q": 2, "lsh_bits": 8}),
}


class Memory:
    """Bytes of the device arrays that exist, which may not exceed the limit; most: their maximum."""

    def __init__(self, monkeypatch):
        self.limit, self.bytes, self.most, make = np.inf, 0, 0, cuda.device_array

        def made(*arguments, **options):
            array = make(*arguments, **options)
            self._take(array._ary)
            return array

        monkeypatch.setattr(cuda, "device_array", made)
        monkeypatch.setattr(_driver, "memory_in_use", lambda: self.bytes)

    def _take(self, array):
        if self.bytes + array.nbytes > self.limit:
            raise MemoryError(f"CUDA_ERROR_OUT_OF_MEMORY: {array.nbytes} bytes more than the {self.bytes} in use")
        self.bytes += array.nbytes
        self.most = max(self.most, self.bytes)
        weakref.finalize(array, self._give, array.nbytes)

    def _give(self, size):
        self.bytes -= size


@pytest.fixture
def memory(monkeypatch):
    """The Memory of a GPU on which every fixed number of bytes is as small as the data."""
    small_launches(monkeypatch)
    monkeypatch.setattr(factorization, "most_workers", lambda layout: 1)
    monkeypatch.setattr(factorization, "BLOCK", 32)
    monkeypatch.setattr(factorization, "LEAST_PAIRS", 8)
    monkeypatch.setattr(preparing, "PARTS", 1)
    return Memory(monkeypatch)


def ratings():
    """Return Ratings of a fourth of all pairs."""
    rng = np.random.default_rng(3)
    users, items = np.divmod(np.sort(rng.choice(SHAPE[0] * SHAPE[1], N, replace=False)), SHAPE[1])
    columns = users.astype(np.int32), items.astype(np.int32), rng.integers(1, 6, N).astype(np.float32)
    return Ratings(*columns, *map(np.arange, SHAPE))


def all_pairs():
    """Return (users, items, values) of all pairs of a user and an item."""
    users, items = np.divmod(np.arange(SHAPE[0] * SHAPE[1]), SHAPE[1])
    return users, items, (items % 5 + 1).astype(np.float32)


ANSWERS = {
    "evaluate": lambda model, users, items, values: list(model.evaluate((users, items), values).values()),
    "predict": lambda model, users, items, values: model.predict(users, items),
    "recommend": lambda model, users, items, values: model.recommend(items[:90], n=3, by="rating")[1],
}


@pytest.mark.parametrize("kind, answer", list(itertools.product(KINDS, ANSWERS)))
def test_answers_stay_within_the_limit(kind, answer, memory, monkeypatch):
    """The model fits, with half of the memory that the whole answer needs."""
    (make, named), data, work = KINDS[kind], ratings(), ANSWERS[answer]
    asked = all_pairs()
    model = make(**NAMED, **named).fit(data)
    model._rated  # noqa: B018  (copies the history to the host)
    model._session()
    of_model = memory.most = memory.bytes
    expected, needed = work(model, *asked), memory.most
    vars(model).pop("_sessions")
    memory.limit = (of_model + 0.5 * (needed - of_model)) * 8 // 7
    assert memory.bytes == 0 and memory.limit < needed
    monkeypatch.setenv("GPUKIT_GPU_MEMORY", str(int(memory.limit)))
    np.testing.assert_allclose(work(model, *asked), expected, rtol=1e-12)


@pytest.mark.parametrize("spare, on_host", [(100, True), (30_000, False)])
def test_neighbours_are_looked_up_without_tables(spare, on_host, memory, monkeypatch):
    """On the host if the history does not fit, else pair by pair if a table a block does not."""
    data, (users, items) = ratings(), [ids[::3] for ids in all_pairs()[:2]]
    model = LSHMF(**NAMED, **KINDS["LSHMF"][1]).fit(data)
    model._rated  # noqa: B018  (copies the history to the host)
    expected = model.predict(users, items)
    vars(model).pop("_sessions")
    monkeypatch.setattr(factorization, "spare_memory", lambda: spare)
    monkeypatch.setattr(factorization, "neighbor_codes", None)
    np.testing.assert_array_equal(model.predict(users, items), expected)
    assert isinstance(model._session().history.items, np.ndarray) is on_host
