"""Parquet of other programs is read in batches; errors give the row."""

import uuid
from decimal import Decimal

import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pytest

from gpukit.errors import DataError, ParameterError
from gpukit.io import tables
from gpukit.ratings import read_pairs, read_ratings, write_ratings

USERS, ITEMS, STARS = [9, 2, 9, 5], ["b", "a", "a", "ç"], [4.0, 0.0, 2.5, 1.0]


def write(path, **columns):
    pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=3)
    return path


def triples(ratings):
    users, items = ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]
    return list(zip(users.tolist(), items.tolist(), ratings.values.tolist(), strict=True))


@pytest.fixture(params=[1, 2, 1 << 18])
def rows(request, monkeypatch):
    monkeypatch.setattr(tables, "BATCH", request.param)


@pytest.mark.parametrize("kind", ["plain", "dictionary", "large", "view"])
def test_ids_of_both_kinds(tmp_path, rows, kind):
    items = pyarrow.array(ITEMS, {"large": pyarrow.large_string(), "view": pyarrow.string_view()}.get(kind))
    items = items.dictionary_encode() if kind == "dictionary" else items
    path = write(tmp_path / "a.parquet", movieId=items, stars=STARS, userId=USERS)
    ratings = read_ratings(path)
    assert triples(ratings) == list(zip(USERS, ITEMS, STARS, strict=True))
    assert ratings.user_ids.tolist() == [2, 5, 9] and ratings.item_ids.tolist() == ["a", "b", "ç"]


def test_categories_that_nobody_uses(tmp_path, rows):
    items = pandas.Categorical(ITEMS, categories=["z", "ç", "b", "a", "y"])
    path = write(tmp_path / "a.parquet", user=USERS, item=pyarrow.array(items), rating=STARS)
    ratings = read_ratings(path)
    assert triples(ratings) == list(zip(USERS, ITEMS, STARS, strict=True))
    assert ratings.item_ids.tolist() == ["a", "b", "ç"]


@pytest.mark.parametrize("kind", [pyarrow.int8(), pyarrow.uint32(), pyarrow.int64(), pyarrow.uint64()])
def test_integers_of_any_width(tmp_path, kind):
    path = write(
        tmp_path / "a.parquet", user=pyarrow.array(USERS, kind), item=ITEMS, rating=pyarrow.array([4, 0, 2, 1], kind)
    )
    expected = USERS if kind != pyarrow.uint64() else [str(one) for one in USERS]
    assert triples(read_ratings(path)) == list(zip(expected, ITEMS, [4.0, 0.0, 2.0, 1.0], strict=True))


@pytest.mark.parametrize(
    "times, expected",
    [
        (pyarrow.array([1, 2, 3, 4]), [1, 2, 3, 4]),
        (pyarrow.array([86_400_000, 1, 2, 3], pyarrow.timestamp("ms")), [86400, 0, 0, 0]),
        (pyarrow.array([1, 2, 3, 4], pyarrow.date32()), [86400, 172800, 259200, 345600]),
        (pyarrow.array(["1970-01-02"] * 4), [86400] * 4),
    ],
)
def test_times(tmp_path, rows, times, expected):
    path = write(tmp_path / "a.parquet", user=USERS, item=ITEMS, rating=STARS, timestamp=times)
    assert read_ratings(path, times=True).times.tolist() == expected and read_ratings(path).times is None


def test_weights_counts_and_repeats(tmp_path, rows):
    path = write(tmp_path / "a.parquet", a=[1, 1, 2], b=[7, 7, 8], c=[3, 5, 4], d=[0.5, 1.5, 1.0], e=[1, 2, 3])
    ratings = read_ratings(path, columns="user,item,rating,weight,count", duplicates="mean")
    assert (
        ratings.values.tolist() == [4, 4] and ratings.weights.tolist() == [1, 1] and ratings.counts.tolist() == [3, 3]
    )


def test_pairs(tmp_path):
    path = write(tmp_path / "a.parquet", item=ITEMS, user=USERS)
    assert [part.tolist() for part in read_pairs(path)] == [USERS, ITEMS]


def test_row_groups_out(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "GROUP", 3)
    (tmp_path / "a.csv").write_text("".join(f"{at},x{at % 4},{at / 2}\n" for at in range(10)))
    ratings = read_ratings(tmp_path / "a.csv")
    write_ratings(ratings, tmp_path / "a.parquet")
    assert pyarrow.parquet.ParquetFile(tmp_path / "a.parquet").metadata.num_row_groups == 4
    assert triples(read_ratings(tmp_path / "a.parquet")) == triples(ratings)
    frame = pandas.read_parquet(tmp_path / "a.parquet")
    assert frame.columns.tolist() == ["user", "item", "rating"] and frame.rating.dtype == np.float32


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(user=[1, None, 2, 3]), "a.parquet, row 2 has no user id"),
        (dict(item=["a", "b", "c", None]), "a.parquet, row 4 has no item id"),
        (dict(rating=[1.0, 2.0, None, 4.0]), "a.parquet, row 3 has no rating"),
        (dict(rating=["1", "2", "3", "4"]), "the rating holds string, not numbers"),
        (dict(rating=[1.0, 2.0, np.nan, 4.0]), "row 3: the rating nan is not a finite number"),
        (dict(rating=[1.0, 2.0, 1e-46, 4.0]), "row 3: the rating 1e-46 is closer to 0 than float32 holds"),
        (dict(rating=[1.0, 2.0, 1e39, 4.0]), "row 3: the rating 1e.39 is not a finite float32: it is larger than"),
        (dict(timestamp=[1, None, 3, 4]), "row 2 has no time"),
        (dict(user=[1.0, 2.0, 3.0, np.nan]), "a.parquet, row 4 has no user id"),
        (dict(item=["a", "b", "", "c"]), "a.parquet, row 3 has no item id"),
        (dict(item=["a", "a", "", "c"]), "a.parquet, row 3 has no item id"),
        (dict(item=["a", "b", "c", "a\0"]), "a.parquet, row 4 has a byte of 0 in its item id"),
    ],
)
def test_refused(tmp_path, rows, changes, message):
    path = write(tmp_path / "a.parquet", **{"user": USERS, "item": ITEMS, "rating": STARS, **changes})
    with pytest.raises(DataError, match=message) as caught:
        read_ratings(path, times="timestamp" in changes)
    assert "\n" not in str(caught.value)


def test_ids_of_extension_types(tmp_path):
    ids = [uuid.UUID(int=value) for value in (5, 6, 5, 7)]
    stored = pyarrow.array([value.bytes for value in ids], pyarrow.binary(16))
    table = {"user": pyarrow.ExtensionArray.from_storage(pyarrow.uuid(), stored), "item": ITEMS, "rating": STARS}
    pyarrow.parquet.write_table(pyarrow.table(table), tmp_path / "a.parquet")
    found = read_ratings(tmp_path / "a.parquet")
    assert found.user_ids[found.users].tolist() == list(map(str, ids))
    flags = pyarrow.ExtensionArray.from_storage(pyarrow.bool8(), pyarrow.array([0, 1, 0, 1], pyarrow.int8()))
    pyarrow.parquet.write_table(pyarrow.table({**table, "user": flags}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="the column of the user id holds extension<arrow.bool8>, not integers or text"):
        read_ratings(tmp_path / "a.parquet")


def test_lists_of_times_are_refused(tmp_path):
    path = write(tmp_path / "a.parquet", user=USERS, item=ITEMS, rating=STARS, timestamp=[[1], [2], [3], [4]])
    with pytest.raises(DataError, match="Give one column of seconds since 1970 or of dates"):
        read_ratings(path, times=True)


def test_columns_that_are_not_clear(tmp_path):
    path = write(tmp_path / "a.parquet", a=USERS, b=ITEMS, c=STARS)
    with pytest.raises(DataError, match="has the columns a, b, c: which columns are user, item and rating"):
        read_ratings(path)
    assert len(read_ratings(path, columns="user,item,rating")) == 4
    with pytest.raises(DataError, match="3 column"):
        read_ratings(path, columns="user,-,-,item,rating")
    with pytest.raises(ParameterError, match="columns must name"):
        read_ratings(path, columns="user,rating")
    with pytest.raises(DataError, match="no column of times"):
        read_ratings(path, columns="user,item,rating", times=True)


def test_damage(tmp_path):
    path = write(tmp_path / "a.parquet", user=USERS, item=ITEMS, rating=STARS)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="damaged or cut short") as caught:
        read_ratings(path)
    assert "\n" not in str(caught.value)


BYTES = pyarrow.array([b"\xff\xfe", b"b", b"c", b"d"], pyarrow.binary())
NO_TEXT = pyarrow.Array.from_buffers(pyarrow.string(), 4, BYTES.buffers())


@pytest.mark.parametrize(
    "items, message",
    [
        (pyarrow.array([[1], [2], [3], [4]]), r"the column of the item id holds list<.*>, not integers or text"),
        (pyarrow.array([{"a": 1}] * 4), r"the column of the item id holds struct<.*>, not integers or text"),
        (BYTES, "the column of the item id holds binary, not integers or text"),
        (pyarrow.array([b"ab"] * 4, pyarrow.binary(2)), r"item id holds fixed_size_binary\[2\], not integers or text"),
        (pyarrow.array([b"ab"] * 4, pyarrow.binary_view()), "item id holds binary_view, not integers or text"),
        (NO_TEXT, "is no Parquet file, or is damaged or cut short: .*UTF8"),
    ],
)
def test_ids_that_are_none(tmp_path, items, message):
    path = write(tmp_path / "a.parquet", user=USERS, item=items, rating=STARS)
    with pytest.raises(DataError, match=message):
        read_ratings(path)


def repeated(path, *names):
    """Return a file with these column names; the first two columns differ."""
    columns = [[5, 6, 7], *([[1, 2, 3]] * (len(names) - 2)), [4.0, 2.0, 1.0]]
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(list(map(pyarrow.array, columns)), names=list(names)), path)
    return path


@pytest.mark.parametrize("names", [("user", "user", "item", "rating"), ("movie_id", "user", "MovieID", "rating")])
def test_columns_that_say_the_same(tmp_path, names):
    path = repeated(tmp_path / "a.parquet", *names)
    with pytest.raises(
        DataError, match=f"several columns named '{names[0]}'. Keep one of them, or name it with --columns"
    ):
        read_ratings(path)


def test_the_caller_says_which_column_counts(tmp_path):
    path = repeated(tmp_path / "a.parquet", "uid", "UID", "item", "rating")
    assert read_ratings(path, columns="-,user,item,rating").user_ids.tolist() == [1, 2, 3]
    path = repeated(tmp_path / "b.parquet", "user", "user", "item", "rating")
    with pytest.raises(DataError, match="several columns named 'user'. Rename them, or leave all but one out"):
        read_ratings(path, columns="-,user,item,rating")
    path = repeated(tmp_path / "c.parquet", "user", "note", "item", "rating", "note", "rank")
    assert read_ratings(path).user_ids.tolist() == [5, 6, 7]


@pytest.mark.parametrize("kind", [pyarrow.float64(), pyarrow.float16(), pyarrow.decimal128(30, 2)])
def test_whole_floats_are_integers(tmp_path, rows, kind):
    """pandas writes ids as floats if one of them was missing."""
    users = pyarrow.array(np.array(USERS, np.float16)) if kind == pyarrow.float16() else pyarrow.array(USERS).cast(kind)
    path = write(tmp_path / "a.parquet", user=users, item=ITEMS, rating=STARS)
    assert triples(read_ratings(path)) == list(zip(USERS, ITEMS, STARS, strict=True))
    half = pyarrow.array([Decimal("0.50")] * 4).cast(kind) if kind != pyarrow.float16() else np.full(4, 0.5, np.float16)
    path = write(tmp_path / "b.parquet", user=half, item=ITEMS, rating=STARS)
    with pytest.raises(DataError, match=r"The user id .*0\.5.* is not a whole number"):
        read_ratings(path)
    large = np.array([2**53, *USERS[1:]], np.float64)
    with pytest.raises(DataError, match="user id 9007199254740992 is a float64, which rounds whole numbers"):
        read_ratings(write(tmp_path / "d.parquet", user=large, item=ITEMS, rating=STARS))
    path = write(tmp_path / "c.parquet", user=[True, False, True, True], item=ITEMS, rating=STARS)
    with pytest.raises(DataError, match="the user id holds bool, not integers or text"):
        read_ratings(path)


def test_a_column_of_lists_is_no_column_of_times(tmp_path):
    pairs = dict(user=[1, 1], item=[2, 2], rating=[3.0, 4.0], date=[[1], [2]])
    pyarrow.parquet.write_table(pyarrow.table(pairs), tmp_path / "a.parquet")
    assert read_ratings(tmp_path / "a.parquet").values.tolist() == [4]
    with pytest.raises(DataError, match="a.parquet, from row 1 on: object of shape"):
        read_ratings(tmp_path / "a.parquet", times=True)
