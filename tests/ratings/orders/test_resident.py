"""Ratings on a GPU: numbered and read there, and copied to the host only if necessary."""

import numpy as np
import pytest
from base.held import Held
from support import launch, small_launches

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:.* encountered")]

from gpukit.base import arrays
from gpukit.device import Device, cpu
from gpukit.device.engine import engine
from gpukit.errors import DataError
from gpukit.ratings.adopt import ratings_of
from gpukit.ratings.check import are_clicks
from gpukit.ratings.orders import kernels, order, resident, twins
from gpukit.ratings.orders.resident import ResidentRatings, SentRatings, ratings_where

GPU = Device("cuda", 0, "a GPU", (9, 0))
N, SHAPE = 90, (13, 17)


@pytest.fixture(autouse=True)
def a_small_gpu(monkeypatch):
    monkeypatch.setattr(arrays, "device_view", lambda array: array.there)
    monkeypatch.setattr(resident, "gpu_count", lambda: 1)
    small_launches(monkeypatch)


def triple(ids=np.int64, values=np.float32, low=-5, step=3, seed=0):
    """Return (users, items, values) of distinct pairs; ids with gaps, some negative."""
    rng = np.random.default_rng(seed)
    users, items = np.divmod(rng.permutation(SHAPE[0] * SHAPE[1])[:N], SHAPE[1])
    return (low + step * users).astype(ids), (2 * items).astype(ids), rng.integers(1, 6, N).astype(values)


def where(X, y=None, spec=GPU):
    return ratings_where(X, y, spec, lambda: ratings_of(X, y, repeats=False))


def forms(held):
    """Return the arguments of fit for a triple of Held: (X, y)."""
    users, items, values = held
    table = Held(np.column_stack([users.array, items.array]))
    return {"a triple": ((users, items, values), None), "pairs": ((users, items), values), "columns": (table, values)}


def same_orders(one, other):
    for name in ("by_item", "by_user"):
        for mine, others in zip(getattr(one, name), getattr(other, name)):
            np.testing.assert_array_equal(host(mine), host(others))
    np.testing.assert_array_equal(host(one.places), host(other.places))
    assert one.shape == other.shape and (one.values is None) == (other.values is None)
    for mine, others in zip(one.levels, other.levels):
        np.testing.assert_array_equal(mine, others)


def host(array):
    return array if isinstance(array, np.ndarray) else array.copy_to_host()


@pytest.mark.parametrize("form", ["a triple", "pairs", "columns"])
@pytest.mark.parametrize("ids", [np.int32, np.int64])
@pytest.mark.parametrize("values", [np.float32, np.float64, np.int32, np.int64])
def test_they_are_read_where_they_lie(form, ids, values):
    held = [Held(array) for array in triple(ids, values)]
    X, y = forms(held)[form]
    found, expected = where(X, y), ratings_of(X, y, repeats=False)
    assert type(found) is ResidentRatings and len(found) == N
    for one in (*held, X):
        vars(one).update(seen=0) if isinstance(one, Held) else None
    for name in ("user_ids", "item_ids"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert getattr(found, name).dtype == getattr(expected, name).dtype
    assert are_clicks(found) is False
    for name in ("users", "items", "values"):
        sent = order.send_column(found, name, engine(GPU, "gpukit.ratings.orders")).copy_to_host()
        np.testing.assert_array_equal(sent, getattr(expected, name))
        assert sent.dtype == getattr(expected, name).dtype
    assert not any(one.seen for one in (*held, X) if isinstance(one, Held))
    for name in ("users", "items", "values"):  # now they are requested on the host
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_their_orders_are_those_of_copies():
    held = [Held(array) for array in triple()]
    there = order.order_ratings(where(tuple(held)), GPU)
    assert not any(one.seen for one in held)
    same_orders(there, order.order_ratings(ratings_of(triple(), repeats=False), cpu()))
    assert all((one.array == kept).all() for one, kept in zip(held, triple()))


UNLIKE = ["on the CPU", "on the other GPU", "one on the other GPU", "ids as floats", "ids far apart", "short", "gaps"]


@pytest.mark.parametrize("why", [*UNLIKE, "one on the host", "none", "2-D", "unsigned", "no GPU"])
def test_what_is_unlike_is_copied(why, monkeypatch):
    users, items, values = triple()
    spec, numbers = GPU, (0, 0, 0)
    if why == "on the CPU":
        spec = "cpu"
    elif why == "on the other GPU":
        numbers = (1, 1, 1)
    elif why == "one on the other GPU":
        numbers = (0, 1, 0)
    elif why == "ids as floats":
        users = users.astype(np.float64)
    elif why == "ids far apart":
        items[np.argmax(items)] = 2**62
        items[np.argmin(items)] = -(2**62)
    elif why == "unsigned":
        items = items.astype(np.uint64)
    elif why == "no GPU":
        monkeypatch.setattr(resident, "gpu_count", lambda: 0)
    elif why == "none":
        users = items = values = np.empty(0, np.int64)
    held = [Held(array, number) for array, number in zip((users, items, values), numbers)]
    X = tuple(held)
    if why == "gaps":
        held[0].__cuda_array_interface__["strides"] = (16,)
    if why == "one on the host":
        X = (users, *held[1:])
    if why == "short":
        X = (held[0], held[1], Held(values[:-1].copy()))
    if why == "2-D":
        X = (held[0], held[1], Held(values[:, None].copy()))
    if why in ("short", "2-D"):
        with pytest.raises(DataError):
            where(X, spec=spec)
        return
    found = where(X, spec=spec)
    assert type(found) is not ResidentRatings
    np.testing.assert_array_equal(found.values, values)


def test_a_matrix_and_three_columns_are_not_taken_for_pairs():
    dense = np.full((6, 3), np.nan, np.float32)
    dense[[0, 1, 2, 3], [0, 1, 2, 0]] = 1, 2, 3, 4
    held = Held(dense)
    assert len(where(held, None)) == len(where(held, Held(np.arange(6)))) == 4


def refusal(kind, users, items):
    """Return a pattern of the error message."""
    too_large = {"too large for float32": r"The rating 1e\+39 is larger than float32 holds"}
    twice = {"twice": f"User {users[3]} has rated item {items[3]} more than once"}
    return (too_large | twice).get(kind, "Rating number 8 is")


@pytest.mark.parametrize("kind", ["NaN", "infinite", "too large for float32", "twice"])
def test_what_is_refused(kind):
    users, items, values = triple(values=np.float64)
    values[7] = {"NaN": np.nan, "infinite": np.inf, "too large for float32": 1e39}.get(kind, values[7])
    if kind == "twice":
        users[3], items[3] = users[50], items[50]
    with pytest.raises(DataError, match=refusal(kind, users, items)), np.errstate(all="ignore"):
        order.order_ratings(where(tuple(map(Held, (users, items, values)))), GPU)


def test_more_values_than_levels_are_read_on_the_host_too():
    rng = np.random.default_rng(1)
    users, items = np.divmod(rng.permutation(30 * 30)[:300], 30)
    values = rng.normal(size=300).astype(np.float32)
    held = [Held(array) for array in (users, items, values)]
    found = order.order_ratings(where(tuple(held)), GPU)
    assert found.values is not None and (held[2].array == values).all()
    same_orders(found, order.order_ratings(ratings_of((users, items, values), repeats=False), cpu()))
    assert (found.values.copy_to_host() != values).any()  # in another order, in their own memory


@pytest.mark.parametrize("what", ["take", "columns", "split", "attribute"])
def test_they_are_ratings_to_all_others(what):
    held = [Held(array) for array in triple()]
    found, expected = where(tuple(held)), ratings_of(triple(), repeats=False)
    if what == "attribute":
        with pytest.raises(AttributeError, match="ResidentRatings.*nothing"):
            _ = found.nothing
        return
    ways = {"take": lambda one: one.take(one.values > 2), "columns": lambda one: one.with_columns(**one.columns())}
    mine, other = (ways.get(what, lambda one: one.split(0.3)[1])(one) for one in (found, expected))
    for name, column in other.columns().items():
        np.testing.assert_array_equal(getattr(mine, name), column)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("n, grid, block", [(1, 1, 32), (31, 2, 32), (700, 3, 64)])
def test_ids_and_their_twins(n, grid, block, dtype):
    ids = np.random.default_rng(n).integers(-40, 500, (n, 2)).astype(dtype)
    bounds = [np.array([2**63 - 1, -(2**63)]) for _ in range(2)]
    for column in (0, 1):
        for each in bounds:
            each[:] = 2**63 - 1, -(2**63)
        launch(kernels.id_bounds, grid, block, ids, column, bounds[0])
        twins.id_bounds(ids, column, bounds[1])
        low, high = bounds[1].tolist()
        assert bounds[0].tolist() == [low, high] == [ids[:, column].min(), ids[:, column].max()]
        present = [np.zeros(high - low + 1, np.uint8) for _ in range(2)]
        launch(kernels.mark_ids, grid, block, ids, column, low, present[0])
        twins.mark_ids(ids, column, low, present[1])
        np.testing.assert_array_equal(*present)
        assert (np.flatnonzero(present[0]) + low).tolist() == sorted(set(ids[:, column].tolist()))
        ranks, rows = np.arange(high - low + 1, dtype=np.int32) * 7, [np.full(n, -1, np.int32) for _ in range(2)]
        launch(kernels.rank_ids, grid, block, ids, column, low, ranks, rows[0])
        twins.rank_ids(ids, column, low, ranks, rows[1])
        assert rows[0].tolist() == rows[1].tolist() == [7 * (one - low) for one in ids[:, column].tolist()]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_as_single_and_its_twin(dtype):
    values = (np.random.default_rng(0).normal(size=333) * 1e8).astype(dtype)
    out = [np.full(333, np.nan, np.float32) for _ in range(2)]
    launch(kernels.as_single, 2, 64, values, out[0])
    twins.as_single(values, out[1])
    assert out[0].tobytes() == out[1].tobytes() == values.astype(np.float32).tobytes()


@pytest.fixture
def large_arrays(monkeypatch):
    monkeypatch.setattr(resident, "MANY", N)


def plain_forms(triple):
    """Return the arguments of fit for arrays of the host: (X, y)."""
    users, items, values = triple
    pairs = np.column_stack([users, items])
    return {"a triple": (triple, None), "pairs": ((users, items), values), "columns": (pairs, values)}


@pytest.mark.parametrize("form", ["a triple", "pairs", "columns"])
@pytest.mark.parametrize("ids", [np.int32, np.int64])
@pytest.mark.parametrize("values", [np.float32, np.float64, np.int32, np.int64])
def test_large_arrays_of_the_host_are_numbered_there(form, ids, values, large_arrays):
    X, y = plain_forms(triple(ids, values))[form]
    found, expected = where(X, y), ratings_of(X, y, repeats=False)
    assert type(found) is SentRatings and len(found) == N
    assert found.first_values(7).tolist() == expected.values[:7].tolist() and found.first_values(7).dtype == np.float32
    for name in ("user_ids", "item_ids"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert getattr(found, name).dtype == getattr(expected, name).dtype
    assert are_clicks(found) is False and "users" not in vars(found)
    same_orders(order.order_ratings(found, GPU), order.order_ratings(expected, cpu()))
    assert "users" not in vars(found) and set(found._there) == {"values"}  # no rows are stored
    same_orders(order.order_ratings(found, GPU), order.order_ratings(expected, cpu()))  # again, from the copies
    for name in ("users", "items", "values"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_a_table_of_pairs_is_sent_once(large_arrays, monkeypatch):
    gpu = engine(GPU, "gpukit.ratings.orders")
    sent, real = [], gpu.resident
    monkeypatch.setattr(gpu, "resident", lambda array, dtype: sent.append(np.shape(array)) or real(array, dtype))
    users, items, values = triple()
    where(np.column_stack([users, items]), values)
    assert sent.count((N, 2)) == 1 and (N,) not in sent


@pytest.mark.parametrize(
    "why", ["few", "on the CPU", "cpu", "masked", "a list", "floats", "apart", "every other", "no GPU"]
)
def test_other_arrays_of_the_host_are_numbered_on_it(why, large_arrays, monkeypatch):
    users, items, values = triple()
    spec = {"on the CPU": cpu(), "cpu": "cpu"}.get(why, GPU)
    if why in ("on the CPU", "cpu"):
        monkeypatch.setattr(resident, "gpu_count", lambda: pytest.fail("a GPU is asked for"))
    elif why == "few":
        monkeypatch.setattr(resident, "MANY", N + 1)
    elif why == "masked":
        values = np.ma.masked_array(values, np.arange(N) == 4)
    elif why == "a list":
        users = users.tolist()
    elif why == "floats":
        users = users.astype(np.float64)
    elif why == "apart":
        items[np.argmax(items)] = 2**62
    elif why == "every other":
        users = np.repeat(users, 2)[::2]
    else:
        monkeypatch.setattr(resident, "gpu_count", lambda: 0)
    found, expected = where((users, items, values), spec=spec), ratings_of((users, items, values), repeats=False)
    assert type(found) is not SentRatings
    np.testing.assert_array_equal(found.users, expected.users)


@pytest.mark.parametrize("kind", ["NaN", "too large for float32", "twice"])
def test_what_is_refused_of_large_arrays(kind, large_arrays):
    users, items, values = triple(values=np.float64)
    values[7] = {"NaN": np.nan, "too large for float32": 1e39}.get(kind, values[7])
    if kind == "twice":
        users[3], items[3] = users[50], items[50]
    with pytest.raises(DataError, match=refusal(kind, users, items)), np.errstate(all="ignore"):
        order.order_ratings(where((users, items, values)), GPU)


@pytest.mark.parametrize("is_large", [False, True])
def test_orders_on_the_host(is_large, large_arrays, monkeypatch):
    """Ratings on a GPU, or numbered on it, are ordered on the host if they do not fit; the latter are released."""
    users, items, values = triple()
    X, y = ((users, items), values) if is_large else (tuple(map(Held, (users, items))), Held(values))
    found = where(X, y)
    assert type(found) is (SentRatings if is_large else ResidentRatings)
    same_orders(order.order_ratings(found, cpu()), order.order_ratings(ratings_of((users, items), values), cpu()))
    assert vars(found)["_there"].keys() == ({"values"} if is_large else {"users", "items", "values"})


def test_large_arrays_that_do_not_fit_are_numbered_on_the_host(large_arrays, monkeypatch):
    users, items, values = triple()
    monkeypatch.setenv("GPUKIT_GPU_MEMORY", str(24 * N))
    found = where((users, items), values)
    assert not isinstance(found, ResidentRatings) and len(found) == N
