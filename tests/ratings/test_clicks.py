"""Pairs without ratings: every reader reads them as clicks and counts repeats."""

import numpy as np
import pandas
import pytest
import scipy.sparse

from gpukit.errors import DataError, ParameterError
from gpukit.ratings import Ratings, as_ratings, read_pairs, read_ratings, write_ratings
from gpukit.ratings.check import are_clicks, are_pairs, clicks_after, clicks_of, code_of_missing, look_like_counts

PAIRS = [(1, 10), (2, 10), (1, 11), (1, 10)]
COUNTED = {(1, 10): 2, (2, 10): 1, (1, 11): 1}


def counts(ratings):
    """Return {(user, item): count}."""
    ids = zip(ratings.user_ids[ratings.users].tolist(), ratings.item_ids[ratings.items].tolist())
    return dict(zip(ids, ratings.counts.tolist()))


def text(sep=",", header=None, extra=()):
    """Return the lines of PAIRS."""
    rows = [sep.join(map(str, (*pair, *(column[k] for column in extra)))) for k, pair in enumerate(PAIRS)]
    return "\n".join(([header] if header else []) + rows) + "\n"


@pytest.mark.parametrize(
    "lines",
    [
        text(),
        text("\t"),
        text(" "),
        text("::"),
        text(header="user_id,track_id"),
        text(header="userId,itemId,timestamp", extra=[(5, "never", 7, 8)]),
        "%%MatrixMarket matrix coordinate pattern general\n3 11 4\n" + text(" "),
    ],
)
def test_text(tmp_path, lines):
    (tmp_path / "pairs.txt").write_text(lines)
    ratings = read_ratings(tmp_path / "pairs.txt")
    assert counts(ratings) == COUNTED and are_pairs(ratings) and ratings.counts.dtype == np.int32


@pytest.mark.parametrize("columns", ["-,user,item,-", "timestamp,user,item,-"])
def test_a_header_above_pairs_whose_columns_are_named_is_no_pair(tmp_path, columns):
    """Text ids look like the names above them."""
    (tmp_path / "sales.csv").write_text("t_dat,customer_id,article_id,price\n2018-09-20,c1,a1,1\n2018-09-21,c2,a1,2\n")
    ratings = read_ratings(tmp_path / "sales.csv", columns=columns)
    assert counts(ratings) == {("c1", "a1"): 1, ("c2", "a1"): 1}
    with pytest.raises(DataError, match="is not clear.*such as -,user,item,-; clicks have no rating"):
        read_ratings(tmp_path / "sales.csv")


def test_columns_and_times(tmp_path):
    (tmp_path / "a.csv").write_text(text(extra=[(9, 9, 9, 9), (5, 6, 7, 8)]))
    named = read_ratings(tmp_path / "a.csv", columns="user,item,-,timestamp", times=True)
    assert counts(named) == COUNTED and named.times.tolist() == [8, 6, 7]
    assert read_ratings(tmp_path / "a.csv", columns="user,item").times is None
    auto = read_ratings(tmp_path / "a.csv", columns="user,item,-,-", times="auto")
    assert auto.times is None
    with pytest.raises(DataError, match="no column of times"):
        read_ratings(tmp_path / "a.csv", columns="user,item,-,-", times=True)
    with pytest.raises(ParameterError, match="columns must name"):
        read_ratings(tmp_path / "a.csv", columns="user,-,-,-")


@pytest.mark.parametrize("name", ["plays", "weight", "play_count", "quantity", "Play Time", "visits", "listens"])
def test_how_often_by_the_header(tmp_path, name):
    (tmp_path / "a.csv").write_text(text(header=f"user,item,{name}", extra=[(3, 4, 5.5, 6)]))
    assert counts(read_ratings(tmp_path / "a.csv")) == {(1, 10): 9, (2, 10): 4, (1, 11): 5.5}


def test_a_rating_is_no_count(tmp_path):
    (tmp_path / "a.csv").write_text(text(header="user,item,rating,count", extra=[(3, 4, 5, 3), (1, 1, 1, 1)]))
    ratings = read_ratings(tmp_path / "a.csv")
    assert ratings.counts is None and not are_clicks(ratings)


def test_what_is_in_memory():
    users, items = map(np.array, zip(*PAIRS))
    frame = pandas.DataFrame({"item": items, "user": users})
    matrix = scipy.sparse.coo_matrix((np.ones(4), (users, items)), shape=(3, 12))
    for data in ((users, items), frame, frame.rename(columns={"user": "customer"}), matrix):
        assert counts(as_ratings(data)) == COUNTED
    played = pandas.DataFrame({"user": users, "song": items, "plays": [1, 2, 3, 4]})
    assert counts(as_ratings(played)) == {(1, 10): 5, (2, 10): 2, (1, 11): 3}


@pytest.mark.parametrize("suffix", [".gkr", ".npz", ".parquet", ".csv"])
def test_copies_keep_what_they_are(tmp_path, suffix):
    (tmp_path / "a.csv").write_text(text(header="user,item,plays", extra=[(3, 4, 5, 6)]))
    ratings = read_ratings(tmp_path / "a.csv")
    write_ratings(ratings, tmp_path / f"copy{suffix}")
    same = read_ratings(tmp_path / f"copy{suffix}")
    assert are_pairs(same) and counts(same) == counts(ratings) == {(1, 10): 9, (2, 10): 4, (1, 11): 5}


def test_pairs_are_still_read_as_pairs(tmp_path):
    (tmp_path / "a.csv").write_text(text())
    users, items = read_pairs(tmp_path / "a.csv")
    assert list(zip(users.tolist(), items.tolist())) == PAIRS


def test_repeats_may_be_refused(tmp_path):
    (tmp_path / "a.csv").write_text(text())
    with pytest.raises(DataError, match="already"):
        read_ratings(tmp_path / "a.csv", duplicates="error")


def test_clicks_from_a_threshold_on():
    users, items = np.array([1, 1, 2, 2]), np.array([5, 6, 5, 7])
    rated = as_ratings((users, items, np.array([5.0, 3.0, 4.0, 0.0])))
    chosen = clicks_of(rated, 4)
    assert chosen.items.tolist() == [0, 0] and (chosen.values == 1).all() and chosen.counts is None
    counted = clicks_of(rated)
    assert counted.counts.tolist() == [5, 3, 4] and (counted.values == 1).all()
    played = as_ratings(pandas.DataFrame({"user": users, "item": items, "plays": [1, 7, 2, 9]}))
    assert clicks_of(played, 2).counts.tolist() == [7, 2, 9]
    with pytest.raises(DataError, match="positive_from=9 is more than the highest value, 5"):
        clicks_of(rated, 9)
    with pytest.raises(DataError, match="pairs have none"):
        clicks_of(as_ratings((users, items)), 4)
    with pytest.raises(DataError, match="0 or less"):
        clicks_of(as_ratings((users, items, np.array([0.0, -1.0, 0.0, -2.0]))))


def test_clicks_of_what_comes_later():
    """Equal ratings are all clicks or none; pairs without counts are clicks."""
    five, pairs = as_ratings(([1, 1], [2, 3], [5.0, 5.0])), as_ratings(([1, 1], [2, 3]))
    assert len(clicks_after(five, 4)) == len(clicks_after(pairs, 4)) == len(clicks_after(five)) == 2
    with pytest.raises(DataError, match="positive_from=6 is more than the highest value, 5"):
        clicks_after(five, 6)
    mixed, plays = as_ratings(([1, 1], [2, 3], [5.0, 1.0])), as_ratings(([1, 1, 1], [2, 2, 3]), repeats=True)
    assert len(clicks_after(mixed, 4)) == len(clicks_after(plays, 2)) == 1


def test_counts_in_the_first_column_go_before_weights(tmp_path):
    (tmp_path / "a.csv").write_text("plays,user,item,weight\n4,1,10,0.5\n2,2,10,0.25\n")
    got = read_ratings(tmp_path / "a.csv")
    assert counts(got) == {(1, 10): 4, (2, 10): 2} and got.weights is None


def test_counts_that_add_up_to_more_than_32_bits(tmp_path):
    (tmp_path / "a.csv").write_text("user,item,plays\nu,i,7\nv,i,3\nu,i,2147483647\n")
    got = read_ratings(tmp_path / "a.csv").counts
    assert got.dtype == np.float32 and got.tolist() == [2**31, 3]
    (tmp_path / "b.csv").write_text("user,item,plays\nu,i,2147483600\nv,i,3\nu,i,47\n")
    assert read_ratings(tmp_path / "b.csv").counts.tolist() == [2**31 - 1, 3]
    (tmp_path / "c.csv").write_text("user,item,plays\nu,i,3e38\nv,i,3\nu,i,3e38\n")
    with pytest.raises(DataError, match="counts add up to 6e"):
        read_ratings(tmp_path / "c.csv")


def table_of(values):
    """Return Ratings of these values, each of another user."""
    users, items = np.arange(len(values), dtype=np.int32), np.zeros(len(values), np.int32)
    return Ratings(users, items, np.asarray(values, np.float32), np.arange(len(values)), np.array([1]))


COUNTS = {
    "geometric": lambda rng, n: rng.geometric(0.1, n),
    "short geometric": lambda rng, n: rng.geometric(0.3, n),
    "zipf": lambda rng, n: np.minimum(rng.zipf(1.5, n), 324_660),
    "steep zipf": lambda rng, n: np.minimum(rng.zipf(3.0, n), 10**6),
    "log-normal": lambda rng, n: np.ceil(rng.lognormal(2, 1, n)),
    "negative binomial": lambda rng, n: 1 + rng.negative_binomial(0.5, 0.05, n),
    "with zeros": lambda rng, n: rng.negative_binomial(1, 0.02, n) * rng.integers(0, 2, n),
    "sorted": lambda rng, n: np.sort(np.ceil(rng.lognormal(2, 1.5, n))),
}
SCALES = {
    "1 to 5": lambda rng, n: rng.integers(1, 6, n),
    "half stars": lambda rng, n: rng.integers(1, 9, n) / 2,
    "1 to 10": lambda rng, n: rng.integers(1, 11, n),
    "0 to 100": lambda rng, n: rng.integers(0, 101, n),
    "low of 0 to 100": lambda rng, n: np.round(100 * rng.beta(1, 3, n)),
    "mostly 0 of 0 to 100": lambda rng, n: np.round(100 * rng.beta(5, 2, n)) * (rng.random(n) < 0.2),
    "-10 to 10": lambda rng, n: rng.uniform(-10, 10, n),
    "1 to 10 and wrong ones": lambda rng, n: np.r_[rng.integers(1, 11, n), [99] * (n // 10), 500, 70],
    "times": lambda rng, n: rng.integers(10**9, 10**9 + 10**8, n),
}


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_the_largest_ratings_are_no_counts():
    assert not look_like_counts(table_of(np.float32(6e37) * np.tile(np.arange(1, 6), 20)))


@pytest.mark.parametrize("n", [10_000, 100_000])
@pytest.mark.parametrize("name", COUNTS)
def test_values_that_look_like_counts(name, n):
    assert look_like_counts(table_of(COUNTS[name](np.random.default_rng(0), n)))


@pytest.mark.parametrize("n", [50, 1000, 100_000])
@pytest.mark.parametrize("name", SCALES)
def test_rating_scales_do_not_look_like_counts(name, n):
    assert not look_like_counts(table_of(SCALES[name](np.random.default_rng(0), n)))


CODES = {
    "-1 next to 1 to 10": (-1, lambda rng, n: np.where(rng.random(n) < 0.2, -1, rng.integers(1, 11, n))),
    "-1 next to 0 to 5": (-1, lambda rng, n: np.where(rng.random(n) < 0.02, -1, rng.integers(0, 6, n))),
    "0 next to 1 to 10": (0, lambda rng, n: np.where(rng.random(n) < 0.6, 0, 1 + rng.binomial(9, 0.7, n))),
    "99 next to -10 to 10": (
        99,
        lambda rng, n: np.where(rng.random(n) < 0.3, 99, rng.uniform(-10, 10, n)),
    ),
    "-99 next to -10 to 10": (-99, lambda rng, n: np.where(rng.random(n) < 0.3, -99, rng.uniform(-10, 10, n))),
    "-99 next to half stars": (-99, lambda rng, n: np.where(rng.random(n) < 0.1, -99, rng.integers(1, 11, n) / 2)),
}


@pytest.mark.parametrize("name", CODES)
def test_codes_of_missing_ratings(name):
    code, make = CODES[name]
    values = make(np.random.default_rng(0), 2000)
    assert code_of_missing(table_of(values)) == (code, pytest.approx(np.mean(values == code)))


@pytest.mark.parametrize(
    "levels", [[0, 1], [-1, 1], [-1, 0, 1], [-2, -1, 0, 1, 2], [0, 1, 2, 3, 4, 5], [0.5, 1, 4, 5], [3]]
)
def test_scales_without_a_code(levels):
    assert code_of_missing(table_of(np.tile(levels, 30))) is None


def test_a_wrong_rating_is_no_code():
    assert code_of_missing(table_of(np.r_[np.tile([1, 2, 3, 4, 5], 100), -99])) is None


def test_long_sorted_counts_are_sampled_evenly():
    assert look_like_counts(table_of(COUNTS["sorted"](np.random.default_rng(0), 3_000_000)))


@pytest.mark.parametrize("positive_from", [None, 2])
def test_no_ratings_at_all(positive_from):
    with pytest.raises(DataError, match="No click is left: all 0 values"):
        clicks_of(as_ratings(scipy.sparse.csr_array((3, 4))), positive_from)
