"""Times, weights and counts: read on request, kept by all operations that keep ratings."""

from datetime import UTC, datetime

import numpy as np
import pandas
import pytest

from gpukit.errors import DataError
from gpukit.io import times
from gpukit.ratings import Ratings, as_ratings, read_ratings, write_ratings
from gpukit.ratings.repeats import without_repeats
from ratings import naive

OPTIONAL = ("times", "weights", "counts")


def table(seed=0, n=300, shape=(17, 23), repeats=True):
    """Return ratings with all optional columns."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, shape[0] * shape[1], n) if repeats else rng.permutation(shape[0] * shape[1])[:n]
    users, items = (part.astype(np.int32) for part in np.divmod(cells, shape[1]))
    return Ratings(
        users,
        items,
        rng.integers(1, 11, n).astype(np.float32) / 2,
        np.arange(shape[0]) + 5,
        np.array([f"item {at:02d}" for at in range(shape[1])]),
        times=rng.integers(0, 2**33, n),
        weights=rng.random(n).astype(np.float32),
        counts=rng.integers(0, 9, n).astype(np.int32),
    )


@pytest.fixture
def write(tmp_path):
    def write(text, name="ratings.txt"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_columns_go_along():
    ratings = table()
    which = np.array([5, 2, 2])
    for name in OPTIONAL:
        assert np.array_equal(getattr(ratings.take(which), name), getattr(ratings, name)[which])
    train, test = ratings.split(0.3, seed=1)
    keep = np.random.default_rng(1).random(300) >= 0.3
    for name in OPTIONAL:
        assert np.array_equal(getattr(train, name), getattr(ratings, name)[keep])
        assert np.array_equal(getattr(test, name), getattr(ratings, name)[~keep])
    assert ratings.nbytes == 300 * 28 and repr(ratings).endswith("23 items, times, weights, counts)")


@pytest.mark.parametrize("rule", ["last", "mean"])
def test_repeated_pairs(rule):
    ratings = table()
    merged = without_repeats(ratings, rule)
    pairs = list(zip(ratings.users.tolist(), ratings.items.tolist(), strict=True))
    rules = {"values": rule, "times": "last", "weights": rule, "counts": "last" if rule == "last" else "sum"}
    for name, how in rules.items():
        column = getattr(ratings, name)
        rows = naive.merged([(*pair, one) for pair, one in zip(pairs, column.tolist(), strict=True)], how)
        if how == "last":  # by time
            latest = {pairs[at]: column[at] for at in np.argsort(ratings.times, kind="stable").tolist()}
            rows = [(*pair, latest[pair]) for pair in dict.fromkeys(pairs)]
        assert np.array_equal(getattr(merged, name), np.array([row[2] for row in rows], dtype=column.dtype)), name
        assert np.array_equal(column, getattr(table(), name))  # unchanged
    assert len(merged) == len(set(pairs)) < len(pairs)


@pytest.mark.parametrize("suffix", ["gkr", "npz", "parquet", "csv"])
def test_round_trip(tmp_path, suffix):
    ratings, path = table(repeats=False), tmp_path / f"copy.{suffix}"
    write_ratings(ratings, path)
    named = None if suffix in ("gkr", "npz") else "user,item,rating,timestamp,weight,count"
    back = read_ratings(path, times=True, columns=named)
    for name in ("users", "items", "values", *OPTIONAL):
        assert np.array_equal(getattr(back, name), getattr(ratings, name)), name
        assert getattr(back, name).dtype == getattr(ratings, name).dtype
    assert back.user_ids.tolist() == ratings.user_ids.tolist() and back.item_ids.tolist() == ratings.item_ids.tolist()
    assert read_ratings(path).times is None
    write_ratings(
        Ratings(*(getattr(ratings, name) for name in ("users", "items", "values", "user_ids", "item_ids"))), path
    )
    with pytest.raises(DataError, match="no times|no column of times"):
        read_ratings(path, times=True)


def test_a_copy_without_its_times(tmp_path):
    write_ratings(table(repeats=False), tmp_path / "a.gkr")
    assert read_ratings(tmp_path / "a.gkr").times is None
    assert read_ratings(tmp_path / "a.gkr", times=True).times is not None


@pytest.mark.parametrize(
    "text, columns, expected",
    [
        ("1::7::3::978300760\n2::7::4::978300761\n", None, [978300760, 978300761]),
        ("1\t7\t3\t881250949\n2\t7\t4\t-5\n", None, [881250949, -5]),
        ("8:\n1,3,2005-09-06\n2,5,1999-12-31\n", None, [1125964800, 946598400]),
        ("user,item,rating,x,timestamp\n1,7,3,0,10\n2,7,4,0,20\n", None, [10, 20]),
        ("Date,user,item,rating\n2004-02-29,1,7,3\n1970-01-01,2,7,4\n", None, [1078012800, 0]),
        ("5,1,7,3\n6,2,7,4\n", "time,user,item,rating", [5, 6]),
        ("user;item;rating;when\n1;7;3;5\n2;7;4;6\n", "user,item,rating,date", [5, 6]),
        ("user,item,rating,time\n1,7,3,2005-09-06 10:11:12\n2,7,4,2005-09-06T12:11:12+02:00\n", None, [1126001472] * 2),
        ("user,item,rating,time\n1,7,3,12.75\n2,7,4,1.5e9\n", None, [12, 1500000000]),
        ("%%MatrixMarket\n2 7 2\n1 7 3 30\n2 7 4 31\n", None, [30, 31]),
    ],
)
def test_times_of_text(write, text, columns, expected):
    path = write(text)
    ratings = read_ratings(path, times=True, columns=columns)
    assert ratings.times.dtype == np.int64 and ratings.times.tolist() == expected
    plain = read_ratings(path, columns=columns)
    assert plain.times is None and plain.values.tolist() == ratings.values.tolist()


def test_times_in_every_block(write, monkeypatch):
    monkeypatch.setattr("gpukit.ratings.chunk_reader.BLOCK", 200)
    path = write("".join(f"{at},{at % 7},3,{at * 10}\n" for at in range(300)))
    assert read_ratings(path, times=True).times.tolist() == list(range(0, 3000, 10))


@pytest.mark.parametrize(
    "text, message",
    [
        ("1,2,3\n", "no column of times .* --columns"),
        ("user,item,rating,x\n1,2,3,4\n", "no column of times"),
        ("8:\n1,3\n", "no column of times"),
        ("1,2,3,4\n1,3,3,\n", "line 2: '' is no time"),
        ("1,2,3,4\n1,3,3,2005-13-01\n", "line 2: '2005-13-01' is no time"),
        ("1,2,3,4\n1,3,3,2005-02-29\n", "line 2: '2005-02-29' is no time"),
        ("1,2,3,4\n1,3,3,soon\n", "line 2: 'soon' is no time"),
        ("1,2,3,4\n1,3,3,nan\n", "line 2: 'nan' is no time"),
    ],
)
def test_times_that_are_none(write, text, message):
    with pytest.raises(DataError, match=message):
        read_ratings(write(text), times=True)


@pytest.mark.parametrize(
    "word, iso",
    [
        ("2003-01-01 00:00:00 UTC", "2003-01-01T00:00:00"),
        ("2003/1/5 7:05 GMT", "2003-01-05T07:05:00"),
        ("6.9.2005 12:30 AM", "2005-09-06T00:30:00"),
        ("2005-09-06 12:30:05pm", "2005-09-06T12:30:05"),
        ("2005-09-06 1:30 PM UTC", "2005-09-06T13:30:00"),
        ("2005-09-06 13:30 PM", None),
        ("2005-09-06 0:30 AM", None),
        ("2005-09-06 25:30", None),
        ("2005-09-06 13.30", None),
        ("2005-09-06T13:30.5", None),
    ],
)
def test_times_of_day(word, iso):
    expected = None if iso is None else int(datetime.fromisoformat(iso).replace(tzinfo=UTC).timestamp())
    assert times.seconds_of(word) == expected


def test_dates_are_those_of_the_calendar():
    days = np.arange(np.datetime64("0001-01-01"), np.datetime64("2405-01-01"), 17)
    words = np.concatenate((np.datetime_as_string(days), ["2000-02-29", "2023-12-31", "2024-02-29", "1900-02-28"]))
    for word in words.tolist():
        expected = datetime.fromisoformat(word).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
        assert times.seconds_of(word) == int(expected.total_seconds()), word
    for word in ("1900-02-29", "2005-04-31", "2005-00-10", "2005-01-00", "0000-01-01", "2005-1-001"):
        assert times.seconds_of(word) is None, word


def test_dates_with_points_and_slashes():
    expected = times.seconds_of("2020-02-01T10:05")
    for word in ("1.2.2020 10:05", "01.02.2020T10:05", "2020/2/1 10:05:00.9", " 2020/02/01 10:05 "):
        assert times.seconds_of(word) == expected, word
    for word in ("1/2/2020", "30.2.2020", "1.2.20", "1.2.20201", "1.2.2020 soon", "2020/13/01", "2020.01.02"):
        assert times.seconds_of(word) is None, word


@pytest.mark.parametrize(
    "order",
    [
        [1.75, 1.25],
        ["1.75", "1.25"],
        ["1970-01-01T00:00:01.75", "1.5"],
        [2e13, 1e13],  # microseconds exceed 64 bits
        [2**62, 2**61],
        np.array([2**63 - 1, 5], np.uint64),
        [5, np.nan],
    ],
)
def test_the_order_of_times(order):
    later, earlier = times.as_seconds(np.array(order), lenient=True)
    assert later > earlier
    frame = pandas.DataFrame({"user": [1, 1, 2], "item": [7, 7, 8], "rating": [3, 4, 5]})
    ratings = as_ratings(frame.assign(timestamp=[*order, order[0]]))
    assert ratings.values.tolist() == ([4, 5] if earlier == times.MISSING else [3, 5])


@pytest.mark.parametrize("early, late", [("31.12.2019", "1.1.2020"), ("2019/12/31", "2020/01/01")])
def test_the_later_date_of_a_repeated_pair_wins(early, late, write):
    path = write(f"user,item,rating,date\na,x,2,{late}\na,x,5,{early}\n")
    assert read_ratings(path, duplicates="last").values.tolist() == [2.0]


@pytest.mark.parametrize("name", ["rated_at", "Created At", "unix_time", "reviewDate", "event time", "rating-time"])
def test_common_names_of_times(name, write):
    """With such a column two ids are clicks, too."""
    path = write(f"user,item,rating,{name}\na,x,2,9\na,x,5,3\n")
    assert read_ratings(path).values.tolist() == [2.0] and read_ratings(path, times=True).times.tolist() == [9]
    assert read_ratings(write(f"user,item,{name}\na,x,9\nb,y,3\n")).counts.tolist() == [1, 1]


def test_weights_and_counts_by_request(write):
    path = write("u,i,r,w,c\n1,7,3,0.25,2\n2,7,4,1.00000000000000001,16777217\n")
    ratings = read_ratings(path, columns="user,item,rating,weight,count")
    assert ratings.weights.dtype == np.float32 and ratings.weights.tolist() == [0.25, 1.0]
    assert ratings.counts.dtype == np.int32 and ratings.counts.tolist() == [2, 16777217]
    assert read_ratings(path, columns="user,item,rating,-,-").weights is None
    assert read_ratings(write("user,item,rating,weight\n1,7,3,2\n")).weights is None


def test_counts_with_fractions_in_a_later_block(write, monkeypatch):
    monkeypatch.setattr("gpukit.ratings.chunk_reader.BLOCK", 64)
    path = write("".join(f"{at},1,3,{at / 2 if at > 90 else at:g}\n" for at in range(100)))
    counts = read_ratings(path, columns="user,item,rating,count").counts
    assert counts.dtype == np.float32 and counts.tolist() == [at / 2 if at > 90 else at for at in range(100)]


@pytest.mark.parametrize("what", ["weight", "count"])
@pytest.mark.parametrize(
    "word, message", [("x", "line 2: the {} 'x' is not a number"), ("inf", "not a finite"), ("-1", "has the {} -1")]
)
def test_bad_weights_and_counts(write, what, word, message):
    with pytest.raises(DataError, match=message.format(what)):
        read_ratings(write(f"1,2,3,1\n1,3,3,{word}\n"), columns=f"user,item,rating,{what}")
