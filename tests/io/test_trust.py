"""Checks of external arrays: the first fault is found anywhere, by one thread and by several."""

import threading

import numpy as np
import pytest
import scipy.sparse

from gpukit import _pool
from gpukit.errors import DataError
from gpukit.io import trust

SIZE = 100
PLACES = (0, 6, 7, 8, 20, 21, 22, 99)


@pytest.fixture(autouse=True, params=[1, 4], ids=["one thread", "threads"])
def small_blocks(request, monkeypatch):
    monkeypatch.setattr(_pool, "cores", lambda: request.param)
    monkeypatch.setattr(trust, "BLOCK", 7)
    monkeypatch.setattr(trust, "TASK", 21)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_finite(place, value):
    array = np.ones((SIZE // 10, 10), np.float32)
    trust.check_finite("a", array)
    trust.check_finite("a", array, 1.0)
    array.reshape(-1)[[place, -1]] = value
    for most in (np.inf, 2.0):
        with pytest.raises(DataError, match=rf"a\[{place // 10}, {place % 10}\] is {value}; all of it must be finite"):
            trust.check_finite("a", array, most)


@pytest.mark.parametrize("place", PLACES)
def test_too_large(place):
    array = np.ones(SIZE)
    array[place] = -3
    trust.check_finite("a", array, 3)
    with pytest.raises(DataError, match=rf"a\[{place}\] is -3.0; .* of at most 2 in size"):
        trust.check_finite("a", array, 2)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", [-1, 5, 2**31 - 1])
def test_out_of_range(place, value):
    array = np.arange(SIZE, dtype=np.int32) % 5
    trust.check_range("a", array, 0, 5)
    array[place] = value
    with pytest.raises(DataError, match=rf"a\[{place}\] is {value}, beyond 0 to 4"):
        trust.check_range("a", array, 0, 5)


@pytest.mark.parametrize("place", PLACES)
def test_pointers_that_fall(place):
    pointers = np.arange(SIZE + 2) * 3
    trust.check_pointers("p", pointers, SIZE + 1, 3 * SIZE + 3)
    pointers[place + 1] = -1 if place == 0 else pointers[place] - 1
    with pytest.raises(DataError, match=rf"p\[{place + 1}\] is .*less than what comes before|p goes from"):
        trust.check_pointers("p", pointers, SIZE + 1, 3 * SIZE + 3)


@pytest.mark.parametrize("pointers", [[1, 2, 3], [0, 2, 4], [0, 3], [0, 3, 3, 3], [[0, 1, 3]], [0.0, 1, 3]])
def test_pointers_that_are_none(pointers):
    trust.check_pointers("p", np.array([0, 1, 3]), 2, 3)
    with pytest.raises(DataError):
        trust.check_pointers("p", np.array(pointers), 2, 3)


@pytest.mark.parametrize("ids", [np.array([3, -1, 2**60]), np.array(["b", "a", ""]), np.zeros(0, np.int64)])
def test_ids(ids):
    trust.check_ids("ids", ids)


@pytest.mark.parametrize(
    "ids, message",
    [
        (np.array([3, 1, 3]), "ids has 3 twice"),
        (np.array(["b", "a", "b"]), "ids has b twice"),
        (np.array([1.0, np.nan]), "got float64"),
        (np.array([[1]]), "got int64, 2-D"),
        (np.array([None]), "got object"),
        ([1, 2], "got list"),
        (np.array([1], np.uint64), "got uint64"),
    ],
)
def test_ids_that_are_none(ids, message):
    with pytest.raises(DataError, match=message):
        trust.check_ids("ids", ids)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("make", ["matrix", "array"])
def test_sound_sparse_matrices(kind, make):
    matrix = scipy.sparse.random_array((9, 12), density=0.4, random_state=np.random.default_rng(0))
    trust.check_sparse("m", getattr(scipy.sparse, f"{kind}_{make}")(matrix))


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo"])
@pytest.mark.parametrize("value", [-1, 50, 2**31 - 1])
def test_indices_of_sparse_matrices(kind, value):
    matrix = scipy.sparse.csr_array(np.eye(50)).asformat(kind)
    for name in ("row", "col") if kind == "coo" else ("indices", "indptr"):
        forged = matrix.copy()
        broken = getattr(forged, name).copy()
        broken[20] = value
        if kind == "coo":
            forged.coords = tuple(broken if one == name else getattr(forged, one) for one in ("row", "col"))
        else:
            setattr(forged, name, broken)
        with pytest.raises(DataError, match=rf"m\.{name}|less than"):
            trust.check_sparse("m", forged)


def test_more_room_than_is_used_is_scipys_way():
    trust.check_compressed("m", np.array([0, 1, 2]), np.array([0, 1, 1]), np.ones(3), (2, 2))
    with pytest.raises(DataError, match="must have the shape"):
        trust.check_compressed("m", np.array([0, 1, 2]), np.array([0, 1]), np.ones(3), (2, 2))


def test_shared_out_keeps_the_order():
    assert _pool.parallel_map(lambda task: 2 * task, range(50)) == list(range(0, 100, 2))
    assert _pool.parallel_map(lambda task: task, []) == []
    with pytest.raises(ZeroDivisionError):
        _pool.parallel_map(lambda task: 1 // task, [1, 0, 1])


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (7, 3), (1000, 300), (2, 1 << 17)])
def test_pieces_of_rows_are_all_of_them(shape, monkeypatch):
    pieces = _pool.map_row_blocks(lambda rows: np.arange(*rows.indices(shape[0])), shape)
    assert np.concatenate([*pieces, np.zeros(0, int)]).tolist() == list(range(shape[0]))
    monkeypatch.setattr(_pool, "cores", lambda: 1)
    assert len(_pool.map_row_blocks(lambda rows: 0, shape)) == len(pieces)  # on any machine


def test_threads_that_share_work_begin_no_others(monkeypatch):
    monkeypatch.setattr(_pool, "cores", lambda: 4)
    name = lambda _: threading.current_thread().name  # noqa: E731
    own, inner = zip(*_pool.parallel_map(lambda task: (name(0), _pool.parallel_map(name, range(3))), range(4)))
    assert not _pool.is_worker() and all(set(names) == {mine} for mine, names in zip(own, inner))


@pytest.mark.parametrize(
    "ids, twice",
    [
        ([], None),
        ([3], None),
        ([3, 3], 3),
        ([1, 2, 5, 9], None),
        ([1, 2, 5, 9, 3, 4, 0], None),
        ([1, 2, 5, 9, 3, 4, 3], 3),
        ([1, 2, 5, 9, 10, 0, 9], 9),
        ([1, 2, 5, 9, 1], 1),
        ([9, 8, 7], None),
        ([9, 8, 9], 9),
        ([1, 2, 2], 2),
    ],
)
def test_ids_that_come_twice(ids, twice):
    """Also after others that ascend, like those of rows added to a model."""
    assert trust.first_repeated(np.array(ids, np.int64)) == twice
    text = trust.first_repeated(np.array([f"{one:02d}" for one in ids], "U2"))
    assert text == (None if twice is None else f"{twice:02d}")


@pytest.mark.parametrize("wrong", [-1, -(2**31), 7, 2**31 - 1])
def test_the_first_row_outside(wrong):
    """Negative or too large numbers in signed integers, which are checked together, with any later numbers."""
    rows = np.arange(7, dtype=np.int32)
    assert trust.first_outside(rows, 0, 7) is None and trust.first_outside(rows.astype(np.uint8), 0, 7) is None
    for dtype in (np.int32, np.int64):
        found = np.concatenate((rows, [wrong, 3, -5])).astype(dtype)
        assert trust.first_outside(found, 0, 7) == (7,) and trust.first_outside(found[:0], 0, 7) is None


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64])
@pytest.mark.parametrize("spread", [1, 8, 10**6])
@pytest.mark.parametrize("again", [False, True])
def test_whole_numbers_in_any_order(kind, spread, again):
    """Marked or sorted, over the full range of their type: the repeated one is found."""
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    step = min(spread, (high - low) // 16)
    ids = np.array([*(low + step * place for place in range(8)), *(high - step * place for place in range(7))], kind)
    ids = np.random.default_rng(spread).permutation(ids if spread == 10**6 else ids[:8])
    if again:
        ids = np.append(ids, ids[3])
    assert trust.first_repeated(ids) == (ids[3] if again else None)
