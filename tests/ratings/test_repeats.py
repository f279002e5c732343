"""Repeated pairs: the later rating by time is kept for every source, and merged pairs are counted."""

import gzip
import subprocess
import sys
import warnings

import numpy as np
import pytest

from gpukit.io import notes, sources
from gpukit.ratings import Ratings, as_ratings, read_ratings, repeats
from gpukit.ratings.adopt import ratings_of

ROWS = [("1", "7", 5, 300), ("2", "7", 1, 50), ("1", "7", 2, 100), ("1", "8", 3, 10), ("1", "7", 4, 200)]
BEST = {(1, 7): 5, (2, 7): 1, (1, 8): 3}  # the later rating of each pair
TEXT = "user,item,rating,timestamp\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS)
MISSING = "user,item,rating,timestamp\n1,7,5,300\n1,7,2,\n1,7,3,200\n2,7,1,5\n"


def pairs_of(ratings):
    """Return {(user, item): rating} of Ratings."""
    users, items = ratings.user_ids[ratings.users].tolist(), ratings.item_ids[ratings.items].tolist()
    return dict(zip(zip(map(int, users), map(int, items)), ratings.values.tolist()))


def frame(text=TEXT):
    pandas = pytest.importorskip("pandas")
    import io

    return pandas.read_csv(io.StringIO(text))


@pytest.fixture
def heard():
    """The notes of readers, {file: (text, facts)}."""
    found = {}
    notes.listener, before = lambda file, text, facts: found.update({file: (text, facts)}), notes.listener
    yield found
    notes.listener = before


@pytest.mark.parametrize("columns", [["user", "item", "rating", "timestamp"], ["timestamp", "rating", "item", "user"]])
def test_a_frame_with_times(columns):
    ratings = as_ratings(frame()[columns])
    assert pairs_of(ratings) == BEST and ratings.merged == 2 and ratings.times is None
    assert as_ratings(frame()[columns], times=True).times.tolist() == [300, 50, 10]


def test_times_of_every_type_of_pandas():
    pandas = pytest.importorskip("pandas")
    table = frame()
    days = table.pop("timestamp") // 2
    dates = pandas.to_datetime(days, unit="D")
    aware = dates.dt.tz_localize("Asia/Tokyo")
    periods, spans = [dates.dt.to_period(unit) for unit in "DWM"], dates - dates[0]
    for column in (*periods, periods[2].astype(object), spans, spans.astype(object), aware):
        assert pairs_of(as_ratings(table.assign(date=column))) == BEST
    assert as_ratings(table.assign(date=periods[0]), times=True).times.tolist() == [150 * 86400, 25 * 86400, 5 * 86400]


@pytest.mark.parametrize("unit", ["D", "ms"])
def test_dates_and_fractions_of_seconds(tmp_path, unit):
    pandas = pytest.importorskip("pandas")
    table, scale = frame(), {"D": 86400, "ms": 0.001}[unit]
    times = table.pop("timestamp")
    dates = pandas.to_datetime(times, unit=unit)
    for column in (dates, dates.astype(str), scale * times):
        table["date"] = column
        table.to_csv(tmp_path / "a.csv", index=False)
        table.to_parquet(tmp_path / "a.parquet")
        read = [read_ratings(tmp_path / name) for name in ("a.csv", "a.parquet")]
        assert [*map(pairs_of, [as_ratings(table), *read])] == [BEST] * 3


def test_pairs_with_their_ratings_apart():
    with pytest.warns(UserWarning, match="2 of 5 ratings repeat a pair and were merged"):
        assert pairs_of(ratings_of(frame()[["user", "item", "timestamp"]], frame()["rating"])) == BEST


def test_ratings_made_by_hand():
    table = as_ratings(frame().drop_duplicates(["user", "item"]), times=True)
    users, items = np.array([0, 1, 0, 0, 0], np.int32), np.array([0, 0, 0, 1, 0], np.int32)
    values, times = np.array([row[2] for row in ROWS], np.float32), np.array([row[3] for row in ROWS])
    ratings = Ratings(users, items, values, table.user_ids, table.item_ids, times)
    assert pairs_of(as_ratings(ratings)) == BEST and as_ratings(ratings).merged == 2


def test_a_missing_time_leaves_the_pair_to_its_last_rating(tmp_path):
    (tmp_path / "a.csv").write_text(MISSING)
    for ratings in (read_ratings(tmp_path / "a.csv"), as_ratings(frame(MISSING))):
        assert pairs_of(ratings) == {(1, 7): 3, (2, 7): 1}


@pytest.mark.parametrize("kind", ["text", "number", "datetime"])
def test_fractions_of_a_second_order_repeats(tmp_path, kind):
    """Ratings.times has whole seconds, also where it is asked for."""
    pandas = pytest.importorskip("pandas")
    dates = pandas.to_datetime([10.9, 10.1, 5, 5], unit="s")
    times = {"text": dates.strftime("%Y-%m-%dT%H:%M:%S.%f"), "number": [10.9, 10.1, 5, 5], "datetime": dates}[kind]
    table = pandas.DataFrame({"user": [1, 1, 2, 2], "item": [7, 7, 7, 8], "rating": [5.0, 1, 3, 3], "timestamp": times})
    table.to_csv(tmp_path / "r.csv", index=False)
    table.to_parquet(tmp_path / "r.parquet")
    for times in (False, True, "auto"):
        tables = [read_ratings(tmp_path / f"r.{suffix}", times=times) for suffix in ("csv", "parquet")]
        for ratings in (*tables, as_ratings(table, times=times)):
            assert ratings.values.tolist() == [5, 3, 3] and ratings.merged == 1
            assert (ratings.times is None) if not times else ratings.times.tolist() == [10, 5, 5]


def test_a_column_that_holds_no_times_changes_nothing():
    table = frame().assign(timestamp="x")
    assert pairs_of(as_ratings(table)) == {**BEST, (1, 7): 4}


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_files_and_open_sources(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame().to_parquet(path)
    else:
        path.write_bytes(gzip.compress(TEXT.encode()) if suffix.endswith("gz") else TEXT.encode())
    assert pairs_of(read_ratings(path)) == BEST
    with sources.open_source(path) as source:
        assert pairs_of(read_ratings(source)) == BEST


@pytest.mark.slow
@pytest.mark.parametrize("target", ["-", "a.csv", "a.gkr", "a.npz"])
def test_a_pipe_is_read_once_with_its_times(tmp_path, target):
    command = [sys.executable, "-m", "gpukit", "convert", "-", target]
    done = subprocess.run(command, input=TEXT, text=True, capture_output=True, cwd=tmp_path, check=True)
    if target == "-":
        (tmp_path / "a.csv").write_text(done.stdout)
    found = read_ratings(tmp_path / ("a.csv" if target == "-" else target))
    assert pairs_of(found) == BEST and found.times is None
    assert "standard input: 2 of 5 ratings repeat a pair and were merged" in done.stderr


def test_what_was_merged_is_noted(tmp_path, heard):
    (tmp_path / "a.csv").write_text(TEXT)
    (tmp_path / "b.csv").write_text("user,item\n1,7\n2,7\n1,7\n")
    (tmp_path / "c.csv").write_text("1,7,5\n2,7,1\n")
    for name in "abc":
        read_ratings(tmp_path / f"{name}.csv")
    (text, facts), clicks, none = (heard[str(tmp_path / f"{name}.csv")] for name in "abc")
    assert facts == {"ratings": 3, "merged": 2} and text.startswith("2 of 5 ratings repeat a pair")
    assert clicks[1]["merged"] == 1 and "their counts are added up" in clicks[0]
    assert none == ("", {"ratings": 2, "merged": 0})
    read_ratings(tmp_path / "a.csv", duplicates="mean")
    assert "their mean counts" in heard[str(tmp_path / "a.csv")][0]


def test_clicks_add_up_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ratings = ratings_of(frame()[["user", "item", "timestamp"]])
    assert ratings.merged == 2 and sorted(ratings.counts.tolist()) == [1, 1, 3]


def test_a_copy_of_repeated_clicks_is_written_merged(tmp_path):
    from gpukit.ratings import write_ratings

    rows, ids = np.array([0, 0, 1], np.int32), np.arange(2)
    write_ratings(Ratings(rows, rows, np.ones(3, np.float32), ids, ids), tmp_path / "a.gkr")
    assert read_ratings(tmp_path / "a.gkr").counts.tolist() == [2, 1]


@pytest.mark.parametrize("shape", [(1, 3000), (3000, 1), (3, 5), (70, 70), (4000, 5), (1 << 20, 1 << 12)])
@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 33, 3000])
def test_one_repeated_pair_among_parts(monkeypatch, shape, n):
    monkeypatch.setattr(repeats, "PIECE", 16)
    monkeypatch.setattr(repeats, "SAMPLES", 4)
    rng = np.random.default_rng(n)
    pairs = np.unique(rng.integers(0, shape[0] * shape[1], n))
    rng.shuffle(pairs)
    users, items = (rows.astype(np.int32) for rows in np.divmod(pairs, shape[1]))
    ratings = Ratings(users, items, np.ones(len(users), np.float32), np.arange(shape[0]), np.arange(shape[1]))
    before = users.copy(), items.copy()
    assert not repeats._has_repeats(ratings)
    assert np.array_equal(users, before[0]) and np.array_equal(items, before[1])
    for sought in [pairs.argmin(), pairs.argmax(), rng.integers(len(users))] if len(users) > 1 else []:
        other = rng.choice(np.delete(np.arange(len(users)), sought))
        twice = ratings.with_columns(**{name: column.copy() for name, column in ratings.columns().items()})
        twice.users[other], twice.items[other] = users[sought], items[sought]
        assert repeats._has_repeats(twice)


UNKNOWN = [("12/31/2020", "01/31/2020"), ("1:00 PM", "2:00 AM"), ("Feb 2 2020", "Jan 1 2020")]


@pytest.mark.parametrize("times", UNKNOWN)
def test_times_that_are_not_known_are_counted(tmp_path, heard, times):
    """The last line counts then, which a user with times does not expect."""
    pandas = pytest.importorskip("pandas")
    data = pandas.DataFrame({"user": [1, 1, 2], "item": [7, 7, 7], "rating": [5.0, 2.0, 3.0], "date": [*times, "3"]})
    data.to_csv(tmp_path / "a.csv", index=False)
    read_ratings(tmp_path / "a.csv")
    advice = "Of these, 1 have a time that is not known: write it as 2005-09-06 18:00"
    assert heard[str(tmp_path / "a.csv")][0].endswith(advice)
    with pytest.warns(UserWarning, match=advice):
        ratings_of(data)
