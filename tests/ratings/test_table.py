"""The table, its grouping by row, and its sources."""

from decimal import Decimal

import numpy as np
import pandas
import pytest
import scipy.sparse

from gpukit.errors import DataError, ParameterError
from gpukit.io import ids
from gpukit.ratings import Ratings, as_ratings, read_ratings
from gpukit.ratings import repeats as repeated
from ratings import naive


def random_ratings(n, shape=(23, 41), seed=0, repeats=False):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, shape[0] * shape[1], n) if repeats else rng.permutation(shape[0] * shape[1])[:n]
    values = rng.integers(0, 11, n).astype(np.float32) / 2
    users, items = (part.astype(np.int32) for part in np.divmod(cells, shape[1]))
    return Ratings(users, items, values, np.arange(shape[0]), np.arange(shape[1]) + 100)


def test_csr_equals_scipy():
    ratings = random_ratings(400)
    matrix = scipy.sparse.coo_matrix((ratings.values + 1, (ratings.users, ratings.items)), ratings.shape)
    for (indptr, indices, values), other in ((ratings.csr(), matrix.tocsr()), (ratings.csc(), matrix.tocsc())):
        other.sort_indices()
        assert indptr.dtype == np.int64 and indices.dtype == np.int32 and values.dtype == np.float32
        for mine, theirs in ((indptr, other.indptr), (indices, other.indices), (values + 1, other.data)):
            assert np.array_equal(mine, theirs)


def test_repeated_pairs_stay_in_a_csr_in_their_order():
    users, items = np.array([1, 0, 1, 1], np.int32), np.array([2, 1, 0, 2], np.int32)
    values = np.array([5, 4, 3, 2], np.float32)
    ratings = Ratings(users, items, values, np.arange(3), np.arange(4))
    found = [[array.tolist() for array in arrays] for arrays in (ratings.csr(), ratings.csc())]
    assert found == [[[0, 1, 4, 4], [1, 0, 2, 2], [4, 3, 5, 2]], [[0, 1, 2, 4, 4], [1, 0, 1, 1], [3, 4, 5, 2]]]
    assert values.tolist() == [5, 4, 3, 2]  # unchanged
    assert [array.tolist() for array in ratings.take(slice(0)).csr()] == [[0, 0, 0, 0], [], []]


@pytest.mark.parametrize("user, item", [(-1, 0), (3, 0), (0, -1), (0, 4)])
def test_a_csr_of_rows_that_are_none(user, item):
    triple = np.array([0, user], np.int32), np.array([0, item], np.int32), np.ones(2, np.float32)
    with pytest.raises(DataError, match=f"number 2 is of row {user} and column {item}.*3 x 4"):
        Ratings(*triple, np.arange(3), np.arange(4)).csr()


def test_split_take_and_scale():
    ratings = random_ratings(300)
    train, test = ratings.split(0.25, seed=3)
    keep = np.random.default_rng(3).random(300) >= 0.25
    assert np.array_equal(train.values, ratings.values[keep]) and np.array_equal(test.items, ratings.items[~keep])
    assert train.user_ids is ratings.user_ids and train.shape == ratings.shape == (23, 41)
    assert ratings.scale == (0.0, 5.0) and len(ratings.take(np.array([3, 1]))) == 2 and ratings.nbytes == 3600
    with pytest.raises(ParameterError, match="fraction"):
        ratings.split(1.0)
    with pytest.raises(DataError, match="no ratings"):
        _ = ratings.take(slice(0)).scale


@pytest.mark.parametrize("rule", ["last", "mean"])
@pytest.mark.parametrize("n", [1, 2, 50, 2000])
def test_repeated_pairs(rule, n):
    ratings = random_ratings(n, repeats=True)
    merged = repeated.without_repeats(ratings, rule)
    rows = naive.merged(zip(ratings.users.tolist(), ratings.items.tolist(), ratings.values.tolist(), strict=True), rule)
    assert list(zip(merged.users.tolist(), merged.items.tolist(), strict=True)) == [row[:2] for row in rows]
    assert np.array_equal(merged.values, np.array([row[2] for row in rows], dtype=np.float32))
    assert np.array_equal(ratings.values, random_ratings(n, repeats=True).values)  # unchanged


def test_a_pair_that_comes_twice_in_a_table_in_order():
    triples = np.array([0, 0, 1], np.int32), np.array([1, 1, 0], np.int32), np.array([3, 4, 5], np.float32)
    assert repeated.without_repeats(Ratings(*triples, np.arange(2), np.arange(2)), "last").values.tolist() == [4, 5]


def test_repeated_pairs_as_an_error(tmp_path):
    (tmp_path / "a.csv").write_text("5,7,1\n5,8,2\n6,7,3\n5,7,4\n5,8,9\n")
    with pytest.raises(
        DataError, match=r"User 5 has rated item 7 already when it comes again as rating 4\b.*duplicates"
    ):
        read_ratings(tmp_path / "a.csv", duplicates="error")
    assert read_ratings(tmp_path / "a.csv").values.tolist() == [4.0, 9.0, 3.0]
    assert read_ratings(tmp_path / "a.csv", duplicates="mean").values.tolist() == [2.5, 5.5, 3.0]


def test_from_sparse_keeps_explicit_zeros():
    matrix = scipy.sparse.csr_array((np.array([0.0, 4.0]), np.array([1, 0]), np.array([0, 1, 1, 2])), shape=(3, 2))
    ratings = as_ratings(matrix)
    assert (ratings.users.tolist(), ratings.items.tolist(), ratings.values.tolist()) == ([0, 2], [1, 0], [0.0, 4.0])
    assert ratings.shape == (3, 2) and as_ratings(ratings) is ratings and ratings.user_ids.tolist() == [0, 1, 2]


def test_from_frame_by_name_or_by_place():
    frame = pandas.DataFrame({"stars": [4, 0], "movieId": ["b", "a"], "userId": [9, 2]})
    for table in (frame, frame[["userId", "movieId", "stars"]].set_axis(["a", "b", "c"], axis=1)):
        ratings = as_ratings(table)
        assert ratings.user_ids.tolist() == [2, 9] and ratings.item_ids.tolist() == ["a", "b"]
        assert ratings.users.tolist() == [1, 0] and ratings.items.tolist() == [1, 0]
        assert ratings.values.tolist() == [4.0, 0.0]


def test_from_dense():
    ratings = as_ratings(np.array([[np.nan, 2.0], [0.0, np.nan]]))
    assert ratings.users.tolist() == [0, 1] and ratings.values.tolist() == [2.0, 0.0] and ratings.shape == (2, 2)


@pytest.mark.parametrize(
    "data, message",
    [
        ({"a": 1}, "cannot be made from dict"),
        (np.zeros(3), "users x items"),
        (np.array([["x"]]), "not numbers"),
        (np.array([[np.inf, 1.0]]), "not a finite"),
        (scipy.sparse.coo_matrix(([1.0, np.nan], ([0, 1], [0, 1]))), "number 2 is nan"),
        (scipy.sparse.coo_matrix(([1.0, 2.0], ([0, 0], [1, 1]))), "rated item 1 already"),
        (pandas.DataFrame({"user": [1]}), "1 column"),
        (
            pandas.DataFrame({"user": [1], "item": [2], "rating": ["x"]}),
            "column 'rating' of the DataFrame\\) are not numbers",
        ),
        (pandas.DataFrame({"user": [1, None], "item": [2, 3], "rating": [1, 2]}), "Row 2 has no user id"),
        (pandas.DataFrame({"user": [1, 2], "item": [True, False], "rating": [1, 2]}), "item ids must be text or whole"),
        (pandas.DataFrame({"user": [1, Decimal("NaN")], "item": [2, 3], "rating": [1, 2]}), "Row 2 has no user id"),
    ],
)
def test_what_cannot_be_ratings(data, message):
    with pytest.raises(DataError, match=message):
        as_ratings(data)


@pytest.mark.parametrize("dtype, bits", [(np.int64, 62), (np.uint64, 62), (np.int32, 31), (np.uint32, 32)])
def test_ids_far_apart_are_numbered_in_their_order(dtype, bits):
    rng = np.random.default_rng(0)
    given = rng.integers(-(2**bits) if np.dtype(dtype).kind == "i" else 0, 2**bits, 700).astype(dtype)[
        rng.integers(0, 700, 3000)
    ]
    rows, known = ids.factorize(given)
    assert known.tolist() == sorted(set(given.tolist())) and known.dtype == np.int64 and rows.dtype == np.int32
    assert [known[row] for row in rows.tolist()] == given.tolist()


def test_rows_of_ids():
    whole, text = np.array([3, 7, 20]), np.array(["3", "7", "anna"])
    assert ids.rows_of([7, 8, 3, 99], whole).tolist() == [1, -1, 0, -1]
    assert ids.rows_of(["7", "x", "007", "20"], whole).tolist() == [1, -1, -1, 2]
    assert ids.rows_of([7, 3.0], whole).tolist() == [1, 0] and ids.rows_of(np.array([7.5]), whole).tolist() == [-1]
    assert ids.rows_of(["anna", "bob"], text).tolist() == [2, -1] and ids.rows_of([7], text).tolist() == [1]
    assert ids.rows_of([1], np.array([], dtype=np.int64)).tolist() == [-1]
    assert ids.rows_of([7, 8, 3, 20], np.array([20, 3, 7])).tolist() == [2, -1, 1, 0]  # in no order
    assert ids.rows_of(["b", "a"], np.array(["b", "c", "a"])).tolist() == [0, 2]


def test_counts_of_a_frame_are_exact():
    """float32 has 2^24, not 2^24 + 1."""
    frame = pandas.DataFrame({"user": [1, 2], "item": [5, 6], "count": [2**24 + 1, 3]})
    assert as_ratings(frame, columns="user,item,count").counts.tolist() == [2**24 + 1, 3]
