"""Additions to the rows of sampled ratings; choice of a position.

Against their twin and plain numpy.
"""

import numpy as np
import pytest

pytestmark = pytest.mark.kernel

from support import launch, thinned

from factorization.shared.data import of_halves, table_of
from gpukit._cuda import cuda
from gpukit.factorization import gpu
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import EXTRA, SQUARES, gpu_layout
from gpukit.factorization.solvers.sgd import kernels, twins


def sampled(n, every):
    """Return which of n ratings are sampled."""
    return np.flatnonzero(np.arange(n) // kernels.RUN % every == 0)


@pytest.mark.parametrize("vector, half", thinned([False, True], [True, False], share=2))
@pytest.mark.parametrize("n, every", [(1, 1), (127, 2), (300, 1), (300, 2), (470, 2), (513, 2)])
@pytest.mark.parametrize("lanes, blocks", [(8, 1), (16, 3)])
def test_grow_rows(n, every, lanes, blocks, vector, half):
    """Sampled rows grow by a quarter.

    Of the last eight numbers only the first two grow.
    """
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


def small(monkeypatch, **more):
    """Attempts that are fast in the simulator."""
    for name, value in {"TIMED_BLOCKS": 1, "TIMED_THREADS": 32, "processors": lambda: 1, **more}.items():
        monkeypatch.setattr(gpu, name, value)


@pytest.mark.parametrize("half", [False, True])
def test_nothing_is_changed_by_what_is_timed(half, monkeypatch):
    """Also for rows with many ratings; every place is tried once, after a warm-up."""
    small(monkeypatch)
    layout, minor = gpu_layout(9, 0, half), cuda.to_device(np.int32([1, 0, 1, 2, 1]))
    shape = 4, layout.minor.stride
    size = 4 * shape[1]
    places = [cuda.to_device(np.zeros(size, np.float32)).reshape(*shape) for _ in range(3)]
    kernel = kernels.make_grow_rows(layout.lanes, layout.factors, half, False)
    launched, met = gpu.launch, []
    monkeypatch.setattr(gpu, "launch", lambda *given: (met.append(given[-1]), launched(*given)))
    assert len(gpu.attempts(kernel, minor, 1, places)) == 3
    assert [next(n for n, place in enumerate(places) if place is table) for table in met] == [2, 0, 1, 2]
    for place in places:
        assert place.shape == shape and not place.copy_to_host().any()


def test_places_are_apart(monkeypatch):
    """The places are parts of one array, APART bytes apart."""
    monkeypatch.setattr(gpu, "APART", 512)
    shape, memory = (3, 32), cuda.to_device(np.arange(96 + 5 * 128, dtype=np.float32))
    places = gpu.places_in(memory, shape)
    assert [place.copy_to_host()[0, 0] for place in places] == [0, 128, 256, 384, 512, 640]
    assert all(place.copy_to_host()[2, 31] == place.copy_to_host()[0, 0] + 95 for place in places)


def test_places_are_unlike():
    """Rows begin on a cache line at every place.

    Offsets within three lines and a page differ.
    """
    begins = gpu.APART * np.arange(gpu.PLACES)
    assert not (begins % 128).any() and len(set(begins % (2 << 20))) == gpu.PLACES
    assert len(set(begins % 384)) == 3 and len(set(begins % 4096)) == 8


@pytest.mark.parametrize("place", [0, 3, 31])
def test_rows_get_the_quickest_place(place, monkeypatch):
    """The best of two rounds is chosen.

    The best of the first round are tried again with more ratings.
    """
    small(monkeypatch, ROUNDS=((2, 3), (4, 1)))
    monkeypatch.setattr(RULES, "timed_from", 4)
    layout, minor = gpu_layout(4, 0, False), cuda.to_device(np.zeros(4, np.int32))
    first, asked = np.full(gpu.PLACES, 9.0), []
    first[[5, place, 7]] = 2.0, 2.5, 3.0

    def attempts(kernel, minor, every, places):
        asked.append((every, places))
        return first if len(asked) == 1 else [2.0, 1.0, 3.0]

    monkeypatch.setattr(gpu, "attempts", attempts)
    given = gpu.allocate_table((6, layout.minor.stride), minor, layout, False)
    (often, every), (seldom, left) = asked
    assert (often, seldom, len(every)) == (2, 1, gpu.PLACES)
    assert [next(n for n, one in enumerate(every) if one is table) for table in left] == [5, place, 7]
    assert given is every[place] and given.shape == (6, layout.minor.stride)


def test_few_ratings_are_given_room_without_a_trial(monkeypatch):
    """Below RULES.timed_from."""
    layout, minor = gpu_layout(4, 0, False), cuda.to_device(np.zeros(4, np.int32))
    monkeypatch.setattr(gpu, "attempts", None)
    assert gpu.allocate_table((6, layout.minor.stride), minor, layout, False).shape == (6, layout.minor.stride)
