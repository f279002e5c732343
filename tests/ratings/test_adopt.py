"""as_ratings: common forms of data, and errors of one line."""

from decimal import Decimal

import numpy as np
import pandas
import pyarrow
import pytest
import scipy.sparse

from gpukit.errors import DataError
from gpukit.parallel import ALONE
from gpukit.ratings import Ratings, as_ratings, check, parts, read_ratings, repeats
from gpukit.ratings.adopt import pairs_of, ratings_of, replace_weights
from gpukit.ratings.table import DISTINCT, SOUND, UNCHECKED

FRAME = pandas.DataFrame({"userId": [9, 2, 9], "movieId": ["b", "a", "a"], "stars": [4, 0, 2.5]})
TRIPLES = [("9", "b", 4.0), ("2", "a", 0.0), ("9", "a", 2.5)]
DENSE = np.array([[np.nan, 2.0], [0.0, np.nan]])


def triples(ratings):
    users, items = ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]
    return list(zip(map(str, users), map(str, items), ratings.values.tolist(), strict=True))


def by_hand(**changes):
    columns = {
        "users": np.array([0, 1, 1], np.int32),
        "items": np.array([1, 0, 1], np.int32),
        "values": np.array([1.0, 2.0, 3.0], np.float32),
        "user_ids": np.array([5, 7]),
        "item_ids": np.array(["b", "a"]),
    }
    return Ratings(**{**columns, **changes})


class Foreign:
    """An array of another library with one method of copying to the host."""

    __cuda_array_interface__ = {}

    def __init__(self, array, way):
        self.array, self.ndim = array, array.ndim
        host = type("Host", (), {"numpy": lambda self: array})()
        setattr(self, way, lambda: array if way == "get" else host)


class Packed:
    """An array with __dlpack__ only."""

    def __init__(self, array):
        self.array, self.ndim = array, array.ndim

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize(
    "kinds", [("Int64", "string", "Float64"), ("int32", "category", "Int8"), ("object", "object", "float32")]
)
def test_frames_of_any_dtype(kinds):
    frame = FRAME.assign(stars=[4, 0, 2]) if kinds[2] == "Int8" else FRAME
    ratings = as_ratings(frame.astype(dict(zip(frame.columns, kinds, strict=True))))
    assert triples(ratings) == [*TRIPLES[:2], ("9", "a", 2.0 if kinds[2] == "Int8" else 2.5)]
    assert ratings.values.dtype == np.float32 and ratings.users.dtype == ratings.items.dtype == np.int32


def test_frames_of_arrow():
    assert triples(as_ratings(FRAME.convert_dtypes(dtype_backend="pyarrow"))) == TRIPLES
    assert triples(as_ratings(FRAME.astype({"movieId": "string[pyarrow]"}))) == TRIPLES


class Lazy:
    """A frame that is computed on demand, as polars' LazyFrame."""

    def __init__(self, frame):
        self.frame = frame

    def collect_schema(self):
        raise AssertionError("the schema is not needed")

    def collect(self):
        return pyarrow.table(self.frame)


@pytest.mark.parametrize("other", [pyarrow.table, Lazy])
def test_frames_of_other_libraries(other):
    assert triples(as_ratings(other(FRAME))) == TRIPLES


@pytest.mark.parametrize("other", [pyarrow.table, Lazy])
def test_pairs_of_other_libraries_are_found_by_name(other):
    pairs, expected = other(FRAME[["movieId", "userId"]]), (["9", "2", "9"], ["b", "a", "a"])
    assert triples(ratings_of(pairs, FRAME.stars.to_numpy())) == TRIPLES
    assert [list(map(str, ids)) for ids in pairs_of(pairs)] == list(expected)
    assert [list(map(str, ids)) for ids in pairs_of(other(FRAME))] == list(expected)


@pytest.mark.parametrize("column, what", [("userId", "user id"), ("movieId", "item id"), ("stars", "rating")])
def test_missing_values_name_their_row(column, what):
    kind = "string" if column == "movieId" else "Float64" if column == "stars" else "Int64"
    frame = FRAME.astype({column: kind})
    frame.loc[1, column] = pandas.NA
    with pytest.raises(DataError, match=f"^Row 2 has no {what}. Remove such rows first.$"):
        as_ratings(frame)


def test_columns_and_times_of_a_frame():
    frame = FRAME.assign(
        timestamp=pandas.to_datetime(["2005-09-06T00:00:00", "1970-01-01T00:00:00", "1970-01-02T00:00:01"]),
        w=[1, 2, 3],
        c=2,
    )
    assert as_ratings(frame).times is None
    assert as_ratings(frame, times=True).times.tolist() == [1125964800, 0, 86401]
    named = as_ratings(frame, columns="user,item,rating,-,weight,count")
    assert named.weights.tolist() == [1, 2, 3] and named.counts.tolist() == [2, 2, 2] and named.times is None
    other = as_ratings(frame.rename(columns={"timestamp": "t"}), columns="user,item,rating,time", times=True)
    assert other.times.tolist() == [1125964800, 0, 86401]
    assert as_ratings(frame[["movieId", "userId", "stars"]], columns="item,user,rating").shape == (2, 2)
    zone = frame.assign(timestamp=frame.timestamp.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))
    assert as_ratings(zone, times=True).times.tolist() == [1125964800, 0, 86401]
    assert as_ratings(frame.assign(timestamp=[1.5, 2, 3]), times=True).times.tolist() == [1, 2, 3]
    with pytest.raises(DataError, match="row 2 has 'soon', which is no time"):
        as_ratings(frame.assign(timestamp=["5", "soon", "7"]), times=True)
    with pytest.raises(DataError, match="The DataFrame has no column of times"):
        as_ratings(FRAME, times=True)
    with pytest.raises(DataError, match="Row 3 has no time"):
        as_ratings(frame.assign(timestamp=[1, 2, None]), times=True)


def test_masked_means_not_rated():
    masked = np.ma.MaskedArray(np.array([[3.0, 2.0], [0.0, np.nan]]), mask=[[1, 0], [0, 0]])
    assert triples(as_ratings(masked)) == triples(as_ratings(DENSE)) == [("0", "1", 2.0), ("1", "0", 0.0)]
    whole = np.ma.MaskedArray([[3, 2], [1, 5]], mask=[[0, 1], [1, 0]])
    assert triples(as_ratings(whole)) == [("0", "0", 3.0), ("1", "1", 5.0)]
    assert triples(as_ratings(([1, 2], ["x", "y"], np.ma.MaskedArray([4, 5], mask=[0, 1])))) == [("1", "x", 4.0)]


def test_three_arrays():
    assert triples(as_ratings(([9, 2, 9], np.array(["b", "a", "a"]), np.array([4, 0, 2.5])))) == TRIPLES
    with pytest.raises(DataError, match="have 2, 2 and 1 entries"):
        as_ratings(([1, 2], [3, 4], [5]))
    with pytest.raises(DataError, match="Row 2 has no item id"):
        as_ratings(([1, 2], ["a", None], [5, 6]))
    with pytest.raises(DataError, match="not numbers"):
        as_ratings(([1], [2], ["x"]))


@pytest.mark.parametrize("way", ["cpu", "get"])
def test_arrays_on_a_gpu_are_copied(way):
    assert triples(as_ratings(Foreign(DENSE, way))) == triples(as_ratings(DENSE))
    columns = tuple(Foreign(np.array(column), way) for column in ([9, 2, 9], [1, 0, 0], [4, 0, 2.5]))
    assert triples(as_ratings(columns)) == [("9", "1", 4.0), ("2", "0", 0.0), ("9", "0", 2.5)]


def test_arrays_that_offer_dlpack():
    assert triples(as_ratings(Packed(DENSE))) == triples(as_ratings(DENSE))


def test_made_by_hand():
    ratings = by_hand()
    assert as_ratings(ratings) is ratings and ratings._state == DISTINCT
    loose = as_ratings(
        by_hand(users=[0, 1, 1], items=np.array([1, 0, 1]), values=[1, 2, 3], user_ids=["x", "y"], counts=[1, 2, 3])
    )
    assert triples(loose) == [("x", "a", 1.0), ("y", "b", 2.0), ("y", "a", 3.0)]
    assert loose.users.dtype == loose.items.dtype == np.int32 and loose.counts.dtype == np.int32


WRONG = {
    "a user row": (dict(users=np.array([0, 2, 1], np.int32)), "Rating number 2 has user row 2, beyond the 2 users"),
    "a negative row": (dict(items=np.array([0, 1, -1], np.int32)), "Rating number 3 has item row -1"),
    "a wide row": (dict(users=np.array([0, 2**32, 1])), "Rating number 2 has user row 4294967296"),
    "rows with fractions": (dict(users=np.array([0.5, 1, 1])), "rows of Ratings are float64"),
    "lengths": (dict(items=np.array([0, 1], np.int32)), "3 values, but 2 items"),
    "NaN": (dict(values=np.array([1, np.nan, np.inf], np.float32)), r"number 2 is nan, not a finite number \(2 such\)"),
    "ids twice": (dict(user_ids=np.array([5, 5])), "user 5 twice"),
    "ids unsorted, twice": (dict(item_ids=np.array(["b", "a", "b"])), "item b twice"),
    "two axes": (dict(user_ids=np.zeros((2, 1))), "user_ids must be"),
    "times": (dict(times=np.array([1])), "3 values, but 1 times"),
    "weights": (dict(weights=np.array([1, -1, 2], np.float32)), "number 2 has the weight -1"),
    "counts": (dict(counts=np.array([1, 2, np.inf], np.float32)), "number 3 has the count inf"),
    "a pair twice": (dict(items=np.array([1, 0, 0], np.int32)), "User 7 has rated item b already"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_by_hand(case):
    changes, message = WRONG[case]
    with pytest.raises(DataError, match=message) as caught:
        as_ratings(by_hand(**changes))
    assert "\n" not in str(caught.value)


def test_a_table_that_is_not_sound_is_not_compressed():
    made = by_hand(users=np.array([0, 2**31 - 1, 1], np.int32))
    for work in (made.csr, made.csc):
        with pytest.raises(DataError, match="2147483647"):
            work()
    assert by_hand().csr()[0].tolist()[-1] == by_hand().csc()[0].tolist()[-1] == 3


def test_dtypes_that_nobody_converted():
    with pytest.raises(DataError, match="users must be a one-dimensional array of int32; got int64, 1-D. as_ratings"):
        repeats.validate(by_hand(users=np.array([0, 1, 1])))
    with pytest.raises(DataError, match="counts must be a one-dimensional array of int32 or float32; got list"):
        repeats.validate(by_hand(counts=[1, 2, 3]))


@pytest.mark.parametrize("place", [0, 65535, 65536, 99999, 131071, 131072, 139999])
def test_the_first_of_many_is_named(place):
    values = np.ones(140_000, np.float32)
    values[place], values[-1] = np.nan, np.nan
    ratings = Ratings(np.zeros(140_000, np.int32), np.zeros(140_000, np.int32), values, np.array([1]), np.array([1]))
    with pytest.raises(DataError, match=f"Rating number {place + 1} is nan"):
        check.validate_ratings(ratings)


def test_checked_once(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("1,2,3\n2,2,4\n")
    read, made = read_ratings(tmp_path / "a.csv"), by_hand()
    asked = []
    whole = check.fault
    monkeypatch.setattr(check, "fault", lambda ratings: asked.append(ratings) or whole(ratings))
    assert made._state == UNCHECKED and check.validate_ratings(made)._state == SOUND
    assert repeats.validate(made)._state == DISTINCT and as_ratings(made) is made
    assert as_ratings(read) is read and len(asked) == 1 and asked[0] is made
    assert made.take(np.array([True, False, True]))._state == made.take(slice(1))._state == DISTINCT
    assert made.take(np.array([1, 1]))._state == SOUND and by_hand().take(slice(1))._state == UNCHECKED
    with pytest.raises(DataError, match="already"):
        as_ratings(made.take(np.array([1, 1, 0])))


def test_repeats_left_to_a_later_look():
    twice = by_hand(items=np.array([1, 0, 0], np.int32))
    assert as_ratings(twice, repeats=False) is twice and twice._state == SOUND
    pairs = ratings_of(([1, 1], [2, 2]), [3, 4], repeats=False)
    assert len(pairs) == 2 and pairs._state == SOUND
    for work in (lambda: as_ratings(twice), lambda: ratings_of(([1, 1], [2, 2]), [3, 4])):
        with pytest.raises(DataError, match="already"):
            work()


def test_sparse_matrices_of_any_kind():
    matrix = scipy.sparse.coo_array(([3.0, 5.0], ([0, 1], [1, 0])), shape=(3, 2))
    for kind in ("csr", "csc", "coo", "lil"):
        assert sorted(triples(as_ratings(matrix.asformat(kind)))) == [("0", "1", 3.0), ("1", "0", 5.0)]
    with pytest.raises(DataError, match="Complex"):
        as_ratings(matrix.astype(complex))


def test_a_frame_of_two_columns_of_one_name():
    frame = pandas.DataFrame([[1, 2, 3, 4.0]], columns=["user", "User", "item", "rating"])
    with pytest.raises(DataError, match="The DataFrame has several columns named 'user'. Keep one"):
        as_ratings(frame)
    assert as_ratings(frame, columns=["-", "user", "item", "rating"]).user_ids.tolist() == [2]


def test_a_side_of_unequal_lists():
    with pytest.raises(DataError, match="the matrix is no array"):
        as_ratings(([[1], [2, 3]], [1, 2], [3.0, 4.0]))


@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize("n", [2, 5, 50])
@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float64, object, bool, str, list])
def test_columns_in_a_dense_array_are_refused(width, n, kind):
    """An array with a line per rating is not a matrix of two to four items, for any size and dtype."""
    X = np.array([(t % 7, t % 3, 1 + t % 5, 70 + t) for t in range(n)])[:, :width]
    as_kind = (lambda array: array.tolist()) if kind is list else lambda array: array.astype(kind)
    last = min(width, 3) - 1
    if kind is not list or n > 3:
        with pytest.raises(DataError, match=rf"as a tuple, \(X\[:, 0\], .*X\[:, {last}\]\)"):
            as_ratings(as_kind(X))
    if kind is not list or width == 4:
        with pytest.raises(DataError, match=r"Pass the columns as a tuple, \(X\["):
            as_ratings(as_kind(X.T))


def test_a_list_of_columns_is_columns():
    users, items, values = [1, 2, 2, 9], np.array([7, 7, 8, 8]), [1.0, 2.0, 3.0, 4.0]
    for kind in (list, tuple):
        ratings = as_ratings(kind((users, items, values)))
        assert ratings.user_ids.tolist() == [1, 2, 9] and ratings.item_ids.tolist() == [7, 8]
        assert ratings.values.tolist() == values
        assert as_ratings(kind((users, items))).counts.tolist() == [1, 1, 1, 1]
    with pytest.raises(DataError, match="4, 4 and 3 entries"):
        as_ratings([users, items, values[:3]])


def test_a_list_of_tuples_is_no_list_of_columns():
    for rows in ([(1, 10, 5.0), (1, 11, 4.0), (2, 10, 3.0)], [(1, 10), (2, 11)], [(1, 10), (2, 11), (3, 12)]):
        with pytest.raises(DataError, match=r"Pass the columns as a tuple"):
            as_ratings(rows)


@pytest.mark.parametrize("kind", [np.array, list, pandas.Series])
def test_a_list_of_users_and_items_is_pairs(kind):
    """A list of columns means the same to fit, with ratings y or weights, and to predict."""
    for n in (2, 3):
        users, items, values = [4, 9, 2][:n], [7, 8, 7][:n], np.array([1.0, 5.0, 3.0])[:n]
        X, expected = [kind(users), kind(items)], ratings_of((users, items), values)
        if n == 2 and kind is list:
            with pytest.raises(DataError, match=r"may be two pairs or users and items. Pass a tuple"):
                pairs_of(X)
            continue
        assert triples(ratings_of(X, values)) == triples(expected)
        assert [ids.tolist() for ids in pairs_of(X)] == [users, items]
        weights = pandas.Series([1.0, 2.0, 3.0][:n])
        for given in (weights.tolist(), *([weights[::-1]] if kind is pandas.Series else [])):
            assert replace_weights(expected, given, X, values).weights.tolist() == weights.tolist()
        if n == 3:
            with pytest.raises(DataError, match="X has ratings, and y is given too"):
                ratings_of([*X, kind(values)], values)
    rows = [[4, 7], [9, 8], [2, 7]]
    assert triples(ratings_of(rows, values)) == triples(ratings_of(([4, 9, 2], [7, 8, 7]), values))


def test_ratings_and_y_are_refused():
    columns = [4, 9], [7, 8], [1.0, 5.0]
    for X in (columns, as_ratings(columns)):
        with pytest.raises(DataError, match="X has ratings, and y is given too"):
            ratings_of(X, [1.0, 5.0])
    with pytest.raises(DataError, match="With y, X has users and items, but its columns are a, b, c"):
        ratings_of(pandas.DataFrame({"a": [4, 9], "b": [7, 8], "c": [1.0, 5.0]}), [1.0, 5.0])


def test_small_matrices_of_fractions_or_gaps_are_ratings():
    for X in (np.array([[1.5, 2, 3], [4, 5, 0.5]]), np.array([[1, np.nan, 3], [np.nan, 5, 4]])):
        assert as_ratings(X).shape == (2, 3)


@pytest.mark.parametrize("kind", [float, object, "Float64", "float32"])
def test_whole_floats_are_integers(kind):
    """A column of ids with a missing value is a column of floats in pandas, also after the row is dropped."""
    frame = FRAME.assign(userId=FRAME.userId.astype(float).astype(kind))
    assert triples(as_ratings(frame)) == TRIPLES
    mixed = pandas.Series([9.0, Decimal("2.00"), "9"], dtype=object)
    assert triples(as_ratings(FRAME.assign(userId=mixed))) == TRIPLES
    with pytest.raises(DataError, match=r"The user id 2\.5 is not a whole number"):
        as_ratings(FRAME.assign(userId=pandas.Series([9, 2.5, 9]).astype(kind)))


@pytest.mark.parametrize("ids", [[3, 1, 20], [3.0, Decimal(1), np.int8(20)], [np.uint64(3), 1, 20]])
def test_integers_in_a_column_of_objects_are_integers(ids):
    """A frame of records, and a query of a database, have such columns."""
    column = pandas.Series(ids, dtype=object)
    for ratings in (as_ratings(FRAME.assign(userId=column)), as_ratings((column, [1, 2, 3], [1.0, 2.0, 3.0]))):
        assert ratings.user_ids.dtype == np.int64 and ratings.user_ids.tolist() == [1, 3, 20]
    others = pandas.Series([2**70, 1, "a"], dtype=object)
    assert as_ratings(FRAME.assign(userId=others)).user_ids.tolist() == ["1", str(2**70), "a"]


@pytest.mark.parametrize("kind, limit", [("float64", 2**53), ("float32", 2**24), (object, 2**53)])
def test_floats_that_round_whole_numbers_are_no_ids(kind, limit):
    """Ids beyond the whole numbers that a float holds all of may be several ids in one."""
    ids = pandas.Series([limit + 2.0, 2.0, limit + 2.0], dtype=kind)
    with pytest.raises(DataError, match=f"The user id {limit + 2} is a float.*Read the column as integers or as text"):
        as_ratings(FRAME.assign(userId=ids))
    whole = FRAME.assign(userId=FRAME.userId.replace(9, limit - 1).astype(kind))
    assert [*map(int, as_ratings(whole).user_ids)] == [2, limit - 1]


@pytest.mark.parametrize("kind", ["datetime64[s]", "timedelta64[s]", complex])
@pytest.mark.parametrize("form", ["frame", "tuple", "y", "dense"])
def test_ratings_that_are_not_numbers(kind, form):
    values = np.array([4, 0, 2]).astype(kind)
    with pytest.raises(DataError, match="dates or durations|Complex data not supported"):
        if form == "y":
            ratings_of(([9, 2, 9], [1, 0, 0]), values)
        forms = {"frame": FRAME.assign(stars=values), "tuple": ([9, 2, 9], [1, 0, 0], values)}
        as_ratings(forms.get(form, np.array([values, values[::-1]])))


@pytest.mark.parametrize("form", [list, np.array])
def test_ratings_beyond_float32(form, recwarn):
    with pytest.raises(DataError, match=r"The rating -1e\+300 is larger than float32 holds. Scale the ratings"):
        as_ratings(([9, 2, 9], [1, 0, 0], form([4, -1e300, 1e200])))
    assert not recwarn.list


@pytest.mark.parametrize("form", ["list", "text", "frame", "y", "sparse", "dense"])
def test_ratings_that_float32_rounds_to_0(form):
    """0 itself, and the smallest number that is not rounded to it, are ratings."""
    values, pairs = np.array([4, 1e-46, 0]), ([9, 2, 9], [1, 0, 0])
    forms = {"list": (*pairs, values.tolist()), "text": (*pairs, values.astype(str).tolist()), "y": pairs}
    forms |= {"frame": FRAME.assign(stars=values), "sparse": scipy.sparse.coo_array((values, pairs))}
    forms["dense"] = np.array([[0.5, *values], [1.5, *values], [np.nan, *values]])
    with pytest.raises(DataError, match="The rating 1e-46 is closer to 0 than float32 holds. Scale the ratings"):
        ratings_of(forms[form], values if form == "y" else None)
    assert as_ratings((*pairs, [4, 1e-45, 0])).values.tolist() == [4, np.float32(1e-45), 0]


def test_columns_are_matched_by_their_labels():
    users, items, values = (FRAME[name] for name in FRAME.columns)
    assert triples(as_ratings((users, items[::-1], values.sample(frac=1, random_state=1)))) == TRIPLES
    with pytest.raises(DataError, match="labels"):
        as_ratings((users, items, values.set_axis([5, 6, 7])))


def test_frames_whose_columns_are_not_the_triples():
    pivot = pandas.DataFrame({"user": [1, 1, 2, 2], "item": [0, 1, 0, 1], "rating": [1, 2, 3, 4]}).pivot_table(
        index="user", columns="item", values="rating"
    )
    plain = pivot.rename_axis(None).rename_axis(None, axis=1)
    for frame, message in (
        (pivot, "are 'user' and 'item'. Pass frame.reset_index"),
        (pivot.rename_axis(None), r"are 'item'. Pass frame.reset_index\(\), or, .* frame.stack\(\).reset_index\(\)"),
        (plain.set_axis([10, 20], axis=1), "which columns are user, item and rating is not clear"),
        (FRAME.set_index("userId"), "are 'userId'. Pass frame.reset_index"),
        (FRAME.set_index(["userId", "movieId"]), "are 'userId' and 'movieId'. Pass frame.reset_index"),
        (pivot.stack(), "are 'user' and 'item'. Pass frame.reset_index"),
        (FRAME["userId"], "has 1 column"),
        (FRAME.set_index("userId").reset_index(drop=True), "which columns are user, item and rating is not clear"),
        (FRAME.rename(columns={"movieId": "x"})[["x", "userId", "stars"]], r"such as -,user,rating|item,user,rating"),
    ):
        with pytest.raises(DataError, match=message):
            as_ratings(frame)
    renamed = FRAME.set_axis(["u", "movieId", "v"], axis=1)
    assert triples(as_ratings(renamed)) == triples(as_ratings(FRAME.set_axis(range(3), axis=1))) == TRIPLES
    assert triples(as_ratings(FRAME.set_index("userId", drop=False))) == TRIPLES
    assert len(as_ratings(pivot.stack().rename("rating").reset_index())) == 4


def test_pairs_and_y_are_matched_by_their_labels():
    users, items, values = (FRAME[name] for name in FRAME.columns)
    shuffled = values.sample(frac=1, random_state=1)
    for pairs in ((users, items), (users, items[::-1]), FRAME[["userId", "movieId"]]):
        assert triples(ratings_of(pairs, shuffled)) == TRIPLES


STRINGS = np.dtypes.StringDType()


@pytest.mark.parametrize(
    "data",
    [
        (np.array(["b", "a", "b"], STRINGS), np.array(["x", "x", "yy"], STRINGS), [1.0, 2.0, 3.0]),
        by_hand(user_ids=np.array(["a", "b"], STRINGS), item_ids=np.array(["yy", "x"], STRINGS)),
    ],
    ids=["arrays", "a table made by hand"],
)
def test_text_of_any_width_is_text(data):
    ratings = as_ratings(data)
    assert ratings.user_ids.tolist() == ["a", "b"] and ratings.user_ids.dtype.kind == "U"
    assert set(ratings.item_ids) == {"x", "yy"} and ratings.item_ids.dtype.kind == "U"


def test_pairs_of_text_of_any_width_are_pairs():
    pairs = np.array([["a", "x"], ["b", "yy"]], STRINGS)
    assert triples(ratings_of(pairs, [1.0, 2.0])) == [("a", "x", 1.0), ("b", "yy", 2.0)]


def test_a_missing_text_of_any_width_is_no_id():
    users = np.array(["a", None], np.dtypes.StringDType(na_object=None))
    with pytest.raises(DataError, match="Row 2 has no user id"):
        as_ratings((users, [1, 2], [1.0, 2.0]))


def test_a_list_of_text_with_a_missing_id():
    """numpy would make it the id 'nan'."""
    with pytest.raises(DataError, match="Row 2 has no user id"):
        as_ratings((["a", float("nan"), "b"], ["x", "y", "x"], [1.0, 2.0, 3.0]))


@pytest.mark.parametrize("values", [[4.0, np.nan, 3.0], [4.0, 2.0, np.inf]])
@pytest.mark.parametrize("form", ["columns", "pairs", "frame", "sparse", "dense"])
def test_numbers_of_every_form_are_checked(form, values):
    users, items, row = np.array([0, 1, 1]), np.array([1, 0, 1]), int(np.argmin(np.isfinite(values)))
    matrix = np.full((2, 4), np.nan)
    matrix[users, items + 2] = values
    frame = pandas.DataFrame({"user": users, "item": items, "rating": values})
    data = {
        "columns": ((users, items, values),),
        "pairs": ((users, items), values),
        "frame": (frame,),
        "sparse": (scipy.sparse.coo_array((values, (users, items))),),
        "dense": (matrix,),
    }[form]
    if np.isnan(values).any() and form == "dense":
        assert len(ratings_of(*data)) == 2  # NaN: not rated
        return
    message = rf"Rating number \d is {values[row]}, not a finite number"
    message = f"Row {row + 1} has no rating" if np.isnan(values).any() and form == "frame" else message
    with pytest.raises(DataError, match=message):
        ratings_of(*data)


def test_rows_and_ids_that_were_numbered_here_are_not_checked_again(monkeypatch):
    monkeypatch.setattr(check, "_bad_ids", lambda ratings: "checked again")
    for data in (FRAME, ([9, 2], ["b", "a"], [4, 1]), np.array([[np.nan, 2.5, 1.0, 2.0, 3.0]] * 2)):
        assert as_ratings(data)._state == DISTINCT
    with pytest.raises(DataError, match="checked again"):
        as_ratings(by_hand())


def test_parts_are_refused():
    part = parts.RatingsPart(by_hand(), ALONE, 3, (1.0, 3.0))
    for read in (as_ratings, ratings_of):
        with pytest.raises(DataError, match="Ratings in parts are for fit"):
            read(part)


LISTS = {
    "text that ends in a zero byte": ([("u\0", "a"), ("u", "b"), ("v", "b")], r"'u\\x00' ends in a byte of 0"),
    "a missing id among text": ([["u", "a"], [float("nan"), "b"], ["v", "b"]], "Row 2 has no user id"),
    "a boolean among text": ([(True, "a"), (1, "b"), ("v", "b")], r"got True \(bool\)"),
    "booleans": (np.array([[True, False], [False, True], [True, True]]), r"got \S*True\S* \(bool"),
    "bytes": (np.array([[b"u", b"a"], [b"u", b"b"], [b"v", b"b"]]), r"got \S*b'u'\S* \(bytes"),
}


@pytest.mark.parametrize("pairs, problem", LISTS.values(), ids=list(LISTS))
def test_pairs_refuse_ids_as_columns_do(pairs, problem):
    users, items = ([row[side] for row in pairs] for side in (0, 1))
    for X in (pairs, (users, items)):
        with pytest.raises(DataError, match=problem):
            ratings_of(X, [4.0, 5.0, 3.0])


def test_whole_floats_in_pairs_are_integers():
    ratings = ratings_of([(1.0, "a"), (1, "b"), (2, "b")], [4.0, 5.0, 3.0])
    assert ratings.user_ids.tolist() == [1, 2] and ratings.item_ids.tolist() == ["a", "b"]
    ratings = ratings_of(np.array([[1.5, 1], [2, 1], [1.5, 2]]), [4.0, 5.0, 3.0])
    assert ratings.user_ids.tolist() == ["1.5", "2"] and ratings.item_ids.tolist() == [1, 2]


def test_a_second_column_of_users_is_not_that_of_items():
    frame = pandas.DataFrame([[1, 2, 3.0]], columns=["user", "user", "rating"])
    with pytest.raises(DataError, match="which columns are user, item and rating is not clear"):
        as_ratings(frame)


@pytest.mark.parametrize(
    "kind", [list, np.array, lambda ids: np.array(ids, object), lambda ids: np.array([*ids, "\ud800"])]
)
def test_an_empty_id_is_refused_as_in_files(kind):
    users = kind(["a", "", "b"])
    rows = range(len(users))
    with pytest.raises(DataError, match=r"^Row 2 has no user id. Remove such rows first"):
        as_ratings((users, [*rows], [1.0] * len(users)))
    with pytest.raises(DataError, match=r"^Row 2 has no item id"):
        as_ratings(([*rows], users, [1.0] * len(users)))
    with pytest.raises(DataError, match=r"^Row 2 has no user id"):
        as_ratings(pandas.DataFrame({"user": ["a", "", "b"], "item": [1, 2, 3], "rating": 1.0}))
