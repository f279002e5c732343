"""Additions to the rows of a sample of ratings against their twin and plain numpy; the choice of a place."""

import numpy as np
import pytest

pytestmark = pytest.mark.kernel

from support import launch

from factorization.shared.data import of_halves, table_of
from gpukit._cuda import cuda
from gpukit.factorization.model.layout import EXTRA, SQUARES, gpu_layout
from gpukit.factorization.solvers.sgd.places import gpu, kernels, twins


def sampled(n, every):
    """Which of n ratings are met."""
    return np.flatnonzero(np.arange(n) // kernels.RUN % every == 0)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("n, every", [(1, 1), (127, 2), (300, 1), (300, 2), (470, 2), (513, 2)])
@pytest.mark.parametrize("lanes, blocks", [(8, 1), (16, 3)])
def test_grow_rows(n, every, lanes, blocks, vector, half):
    """By a quarter, of the sampled ratings' rows alone; of the last eight numbers the first two."""
    factors, minor = 4 * lanes, np.random.default_rng(n).permutation(n + 5)[:n].astype(np.int32)
    table, plain = table_of(n + 5, factors, half)
    expected, met = plain.copy(), minor[sampled(n, every)]
    expected[met, : factors + SQUARES + 1] *= 1.25
    wanted = table.copy()
    wanted[:, -EXTRA:] = expected[:, -EXTRA:]
    stored = of_halves(expected[:, :factors]) if half else expected[:, :factors]
    wanted[:, : stored.shape[1]] = stored
    launch(kernels.make_grow_rows(lanes, 4, half, vector), blocks, 64, minor, every, np.float32(0.25), table)
    twins.grow_rows(minor, every, np.float32(0.25), plain)
    np.testing.assert_array_equal(plain, expected)
    np.testing.assert_array_equal(table.view(np.uint32), wanted.view(np.uint32))


@pytest.mark.parametrize("half", [False, True])
def test_nothing_is_changed_by_what_is_timed(half, monkeypatch):
    """Wherever rows are met many times; every place is tried in every round."""
    monkeypatch.setattr(gpu, "BLOCKS", 1)
    monkeypatch.setattr(gpu, "THREADS", 32)
    monkeypatch.setattr(gpu, "processors", lambda: 1)
    layout, minor = gpu_layout(9, 0, half), cuda.to_device(np.int32([1, 0, 1, 2, 1]))
    shape = 4, layout.minor.stride
    places = gpu.places_in(cuda.to_device(np.zeros(4 * shape[1] + 256, np.float32)), shape)
    kernel = kernels.make_grow_rows(layout.lanes, layout.factors, half, False)
    launched, met = gpu.launch, []
    monkeypatch.setattr(gpu, "launch", lambda *given: (met.append(given[-1]), launched(*given)))
    assert gpu.attempts(kernel, minor, places).shape == (gpu.ROUNDS, 3)
    assert [next(n for n, place in enumerate(places) if place is table) for table in met[1:]] == [0, 1, 2] * gpu.ROUNDS
    for place in places:
        assert place.shape == shape and not place.copy_to_host().any()


def test_places_lie_apart():
    """Each of the places is a part of one array, as many bytes behind the one before as it says."""
    shape, memory = (3, 32), cuda.to_device(np.arange(96 + 5 * 128, dtype=np.float32))
    places = gpu.places_in(memory, shape)
    assert [place.copy_to_host()[0, 0] for place in places] == [0, 128, 256, 384, 512, 640]
    assert all(place.copy_to_host()[2, 31] == place.copy_to_host()[0, 0] + 95 for place in places)


@pytest.mark.parametrize("place", [0, 3, 7])
def test_rows_get_the_quickest_place(place, monkeypatch):
    """By its shortest attempt; few ratings are given room without a trial."""
    layout, minor = gpu_layout(4, 0, False), cuda.to_device(np.zeros(4, np.int32))
    times = np.full((gpu.ROUNDS, gpu.PLACES), 2.0)
    times[0, place], times[1, place] = 9.0, 1.0
    asked, given = [], gpu.places_in

    def places_in(memory, shape):
        asked.extend(given(memory, shape))
        return asked

    monkeypatch.setattr(gpu, "places_in", places_in)
    monkeypatch.setattr(gpu, "attempts", lambda *_: times)
    assert gpu.room_for((6, layout.minor.stride), minor, layout, False).shape == (6, layout.minor.stride)
    assert not asked
    monkeypatch.setattr(gpu, "FROM", 4)
    assert gpu.room_for((6, layout.minor.stride), minor, layout, False) is asked[place] and len(asked) == gpu.PLACES
