"""Ratings that each rank reads a share of are those that one process reads, in any number and order of parts."""

import itertools

import numpy as np
import pandas
import pytest
from parallel.test_team import together
from support import thinned

from gpukit import arrayfile
from gpukit.device import resolve
from gpukit.errors import DataError, ParameterError
from gpukit.parallel import ALONE, TeamError
from gpukit.ratings import Ratings, as_ratings, copies, parts, read_parts, read_ratings, synth_ratings, write_ratings
from gpukit.ratings.orders.order import order_ratings
from gpukit.ratings.parts import RatingsPart, in_ranges, redistribute, split_by_pair
from gpukit.ratings.table import DISTINCT, set_state

SIZES = (2, 3, 4)


def frame(n=500, users=60, items=40, seed=0):
    """Return n different pairs with ratings, in random order."""
    rng = np.random.default_rng(seed)
    pairs = rng.choice(users * items, n, replace=False)
    columns = pairs // items - 7, pairs % items * 10**9, rng.integers(1, 6, n)
    return pandas.DataFrame(dict(zip(("user", "item", "rating"), columns)))


def pieces(table, count):
    return [table.iloc[len(table) * k // count : len(table) * (k + 1) // count] for k in range(count)]


def read_on(size, pattern, **options):
    """Return the RatingsPart of each rank; raise a DataError with which all ranks have ended."""
    results = together(size, lambda team: read_parts.read_parts(str(pattern), team, **options))
    errors = [result for result in results if isinstance(result, Exception)]
    if errors:
        assert [getattr(error, "exit_code", error) for error in errors] == [DataError.exit_code] * size
        raise DataError(str(errors[0]))
    return results


def triples(ratings):
    users, items = ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]
    return sorted(zip(users.tolist(), items.tolist(), ratings.values.tolist()))


def check_same(results, expected):
    """Assert that ranks together have the expected Ratings, in the same rows, each user on one rank."""
    for result in results:
        assert isinstance(result, RatingsPart)
        assert (len(result), result.shape, result.scale) == (len(expected), expected.shape, expected.scale)
        for name in ("user_ids", "item_ids"):
            assert getattr(result, name).dtype == getattr(expected, name).dtype
            np.testing.assert_array_equal(getattr(result, name), getattr(expected, name))
        order = np.lexsort((result.items, result.users))
        np.testing.assert_array_equal(order, np.arange(len(order)))
    assert sorted(itertools.chain(*(triples(result.local) for result in results))) == triples(expected)
    owners = [set(result.users.tolist()) for result in results]
    assert sum(map(len, owners)) == len(set().union(*owners))


def write(folder, table, kind, count=3, names="{}"):
    """Write a table as parts of a kind; return their pattern."""
    for k, part in enumerate(pieces(table, count)):
        name = names.format(k)
        if kind == "parquet":
            part.to_parquet(folder / f"{name}.parquet", row_group_size=37, index=False)
        elif kind == "gz":
            part.to_csv(folder / f"{name}.csv.gz", index=False)
        else:
            part.to_csv(folder / f"{name}.csv", index=False)
    return folder / f"*.{kind}"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind, count", [("parquet", 3), ("parquet", 1), ("csv", 3), ("csv", 1), ("gz", 5)])
def test_the_ratings_of_one_process(tmp_path, size, kind, count):
    table = frame()
    table.to_csv(tmp_path / "whole.txt", index=False)
    check_same(read_on(size, write(tmp_path, table, kind, count)), read_ratings(tmp_path / "whole.txt"))


def test_one_process_reads_the_same_from_a_pattern(tmp_path):
    table = frame()
    table.to_csv(tmp_path / "whole.txt", index=False)
    whole = read_ratings(tmp_path / "whole.txt")
    for kind in ("parquet", "csv"):
        found = read_ratings(write(tmp_path, table, kind))
        for name, column in whole.columns().items():
            np.testing.assert_array_equal(getattr(found, name), column)


@pytest.mark.parametrize("order", list(itertools.permutations("abc"))[1:4])
def test_the_order_of_the_parts_does_not_matter(tmp_path, order):
    """Rows and values are the same on each rank, whatever the names of the parts."""
    table = frame()
    results = []
    for names in ("abc", order):
        folder = tmp_path / "".join(names)
        folder.mkdir(exist_ok=True)
        for name, part in zip(names, pieces(table, 3)):
            part.to_parquet(folder / f"{name}.parquet", row_group_size=37)
        results.append(read_on(2, folder / "*.parquet"))
    for one, other in zip(*results):
        for name, column in one.local.columns().items():
            np.testing.assert_array_equal(getattr(other.local, name), column)


@pytest.mark.parametrize("ending", ["\n", ""])
@pytest.mark.parametrize("size", [2, 3, 7])
def test_every_line_is_read_once(tmp_path, size, ending):
    """Lines of all lengths, so that pieces end within and between them; the last may lack its end."""
    lines = [f"{k},{k % 5 * 10 ** (k % 9)},{k % 5 + 1}" for k in range(40)]
    (tmp_path / "a.csv").write_text("\n".join(lines) + ending)
    check_same(read_on(size, tmp_path / "*.csv"), read_ratings(tmp_path / "a.csv"))


def test_more_ranks_than_ratings(tmp_path):
    """Ranks without a share, and without rows, have the same ids as others."""
    (tmp_path / "a.csv").write_text("user,item,rating\nx,7,5\ny,8,1\n")
    check_same(read_on(4, tmp_path / "*.csv"), read_ratings(tmp_path / "a.csv"))


@pytest.mark.parametrize("texts", [("ça", "007", "7"), ("12", "1" * 25, "3")], ids=str)
def test_an_id_that_is_text_in_one_part_makes_all_text(tmp_path, texts):
    table = frame(90).astype({"user": str})
    table.loc[table.index[-len(texts) :], "user"] = texts
    pattern = write(tmp_path, table, "csv")
    expected = read_ratings(pattern)
    assert expected.user_ids.dtype.kind == "U" and expected.item_ids.dtype.kind == "i"
    check_same(read_on(3, pattern), expected)


def test_text_of_parquet_stays_text(tmp_path):
    pattern = write(tmp_path, frame(90).astype({"user": str}), "parquet")
    expected = read_ratings(pattern)
    assert expected.user_ids.dtype.kind == "U"
    check_same(read_on(2, pattern), expected)


@pytest.mark.parametrize("size", [2, 5])
def test_a_quoted_line_end_makes_one_rank_read_the_file(tmp_path, size):
    """A piece that begins within quotes would read 1,2,3 as a rating."""
    text = "".join(f'"user\n1,2,3\n{k}",{k % 3},{k % 5 + 1}\n' for k in range(60))
    (tmp_path / "a.csv").write_text("user,item,rating\n" + text)
    (tmp_path / "b.csv").write_text("user,item,rating\n" + "".join(f'"u{k}",{k % 3},4\n' for k in range(60)))
    expected = read_ratings(tmp_path / "*.csv")
    assert len(expected) == 120
    check_same(read_on(size, tmp_path / "*.csv"), expected)


@pytest.mark.parametrize("times, size, rule", thinned([None, (5, 9, 9, 1), (9, 5, 5, 1)], SIZES, ["last", "mean"]))
def test_pairs_repeated_over_parts(tmp_path, size, times, rule):
    """The later time counts, else the order of files and lines; times are read only then."""
    table = frame(120)
    copies = [table.iloc[::3].assign(rating=k / 2) for k in range(4)]
    tables = [table] + copies
    if times is not None:
        tables = [part.assign(timestamp=time) for part, time in zip(tables, (0, *times))]
    for k, part in enumerate(tables):
        part.to_csv(tmp_path / f"{k}.csv", index=False)
    expected = read_ratings(tmp_path / "*.csv", duplicates=rule)
    results = read_on(size, tmp_path / "*.csv", duplicates=rule)
    check_same(results, expected)
    assert [result.merged for result in results] == [160] * size and expected.merged == 160


def test_empty_parts_are_left_out(tmp_path):
    """A file of no bytes, one of a header, and Parquet without rows."""
    table = frame(60)
    pattern = write(tmp_path, table, "csv", names="b{}")
    (tmp_path / "a.csv").write_text("")
    (tmp_path / "b.csv").write_text("user,item,rating\n")
    expected = read_ratings(tmp_path / "b1.csv")
    assert len(read_ratings(pattern)) == 60 and len(expected) == 20
    check_same(read_on(2, pattern), read_ratings(pattern))
    write(tmp_path, table, "parquet", names="b{}")
    table.iloc[:0].to_parquet(tmp_path / "a.parquet")
    check_same(read_on(2, tmp_path / "*.parquet"), read_ratings(tmp_path / "*.parquet"))


@pytest.mark.parametrize("text", ["", "user,item,rating\n"], ids=["no bytes", "a header"])
def test_parts_without_ratings_are_refused(tmp_path, text):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(text)
    for read in (read_ratings, lambda pattern: read_on(2, pattern)):
        with pytest.raises(DataError, match=r"holds? no ratings"):
            read(tmp_path / "*.csv")


def test_a_pattern_without_files(tmp_path):
    for read in (read_ratings, lambda pattern: read_on(2, pattern)):
        with pytest.raises(DataError, match=r"No file matches .*\*\.csv"):
            read(tmp_path / "*.csv")


def test_columns_in_another_order_are_found_and_other_columns_refused(tmp_path):
    table = frame(90)
    one, two, three = pieces(table, 3)
    one.to_csv(tmp_path / "a.csv", index=False)
    two[["rating", "user", "item"]].to_csv(tmp_path / "b.csv", index=False)
    expected = read_ratings(tmp_path / "*.csv")
    check_same(read_on(2, tmp_path / "*.csv"), expected)
    assert triples(expected) == sorted(map(tuple, pandas.concat([one, two]).astype(float).to_numpy().tolist()))
    three[["user", "item"]].to_csv(tmp_path / "c.csv", index=False)
    for read in (read_ratings, lambda pattern: read_on(2, pattern)):
        with pytest.raises(DataError, match=r"c\.csv has the columns user, item, but .*a\.csv has user, item, rating"):
            read(tmp_path / "*.csv")


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("line", [2, 31, 60])
def test_a_bad_value_names_its_file_and_line(tmp_path, size, line):
    """As one process does, also in a piece that begins within the file."""
    write(tmp_path, frame(60), "csv", 1, "a{}")
    lines = ["user,item,rating", *(f"{k},{k % 7},3" for k in range(60))]
    lines[line - 1] = "5,6,hello"
    (tmp_path / "b.csv").write_text("\n".join(lines))
    expected = rf"b\.csv, line {line}: the rating 'hello' is not a number"
    for read in (read_ratings, lambda pattern: read_on(size, pattern)):
        with pytest.raises(DataError, match=expected):
            read(tmp_path / "*.csv")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_bad_value_of_parquet_names_its_row(tmp_path, value):
    table = frame(90).astype({"rating": float})
    table.iloc[70, 2] = value
    table.to_parquet(tmp_path / "a.parquet", row_group_size=20)
    for read in (read_ratings, lambda pattern: read_on(3, pattern)):
        with pytest.raises(DataError, match=r"a\.parquet, row 71"):
            read(tmp_path / "*.parquet")


def test_decimal_commas_are_read_in_parts(tmp_path):
    text = "user;item;rating\n" + "".join(f"{k};{k % 7};{k % 5},5\n" for k in range(60))
    (tmp_path / "a.csv").write_text(text)
    assert len(read_ratings(tmp_path / "*.csv")) == 60
    check_same(read_on(2, tmp_path / "*.csv"), read_ratings(tmp_path / "*.csv"))


@pytest.mark.parametrize(
    "text",
    ["user,item\n1,2\n3,4\n", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 3\n"],
    ids=["clicks", "Matrix Market"],
)
def test_other_data_are_read_by_one_rank(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    for result in read_on(2, tmp_path / "*.csv"):
        assert type(result) is Ratings and triples(result) == triples(read_ratings(tmp_path / "*.csv"))


def test_a_single_rank_and_refused_repeats_need_all_ratings(tmp_path):
    pattern = write(tmp_path, frame(60), "csv")
    assert type(read_parts.read_parts(pattern, ALONE)) is Ratings
    assert [type(result) for result in read_on(2, pattern, duplicates="error")] == [Ratings] * 2


def test_formats_of_whole_data_sets_are_no_parts(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 3\n")
    with pytest.raises(DataError, match="netflix-mm, which is read alone"):
        read_ratings(tmp_path / "*.mtx")


def test_ranks_that_see_other_files_are_refused(tmp_path, monkeypatch):
    pattern = write(tmp_path, frame(60), "csv")
    seen = itertools.count()
    monkeypatch.setattr(read_parts, "files_of", lambda path: sorted(map(str, tmp_path.glob("*.csv")))[next(seen) :])
    with pytest.raises(DataError, match="Ranks read different files .*: .* files"):
        read_on(2, pattern)


@pytest.mark.parametrize("size", SIZES)
def test_the_held_out_part_depends_on_the_pairs_alone(tmp_path, size):
    table = frame(900)
    expected = split_by_pair(read_ratings(write(tmp_path, table, "csv")), 0.3, 5)
    assert 0.25 < len(expected[1]) / 900 < 0.35
    assert triples(split_by_pair(read_ratings(tmp_path / "*.csv"), 0.3, 6)[1]) != triples(expected[1])

    def work(team):
        return read_parts.read_parts(str(tmp_path / "*.csv"), team).split(0.3, 5)

    results = together(size, work)
    for k in (0, 1):
        found = [result[k] for result in results]
        assert sorted(itertools.chain(*(triples(one.local) for one in found))) == triples(expected[k])
        assert {len(one) for one in found} == {len(expected[k])}


def test_ranks_read_ranges_of_the_rows_of_a_copy(tmp_path):
    """They hold out the ratings that one process does; each user is on one rank after `move`."""
    path, size = tmp_path / "a.gkr", 3
    write_ratings(as_ratings(frame(900)), path)
    expected = read_ratings(path).split(0.3, 5)

    def work(team):
        part = read_parts.read_parts(path, team)
        parts = part.split(0.3, 5)
        for divided in parts:
            divided.move(np.arange(part.shape[0], dtype=np.int32) % size)
        return part, parts

    results = together(size, work)
    assert [len(part.local) for part, _ in results] == [300] * size
    for index, half in enumerate(expected):
        divided = [parts[index] for _, parts in results]
        assert [len(part) for part in divided] == [len(half)] * size
        assert sorted(itertools.chain(*(triples(part.local) for part in divided))) == triples(half)
        assert all((part.users % size == rank).all() for rank, part in enumerate(divided))


@pytest.mark.parametrize("column", ["users", "items", "values"])
def test_a_damaged_copy_is_refused_by_all_ranks(tmp_path, column):
    """Also by those that have not checked the damaged bytes."""
    path, n = tmp_path / "a.gkr", 4 << 20
    rows = np.arange(n, dtype=np.int32)
    ratings = Ratings(rows // 2048, rows % 2048, np.float32(rows % 5), np.arange(n // 2048), np.arange(2048))
    write_ratings(ratings, path)
    entry = next(entry for entry in arrayfile.read_header(path, copies.KIND).entries if entry.name == column)
    with open(path, "r+b") as file:
        file.seek(entry.offset + entry.nbytes // 2)
        file.write(b"\7")
    with pytest.raises(DataError, match=f"array '{column}' is not as it was written"):
        read_on(3, path)


def test_other_copies_are_read_by_one_rank(tmp_path):
    table = as_ratings(frame(50))
    for name, dtype in (("weights", np.float32), ("counts", np.int32), ("values", np.float32)):
        columns = {**table.columns(), name: np.ones(50, dtype)}
        write_ratings(table.with_columns(**columns), tmp_path / "a.gkr")
        for result in read_on(2, tmp_path / "a.gkr"):
            assert isinstance(result, Ratings) and len(result) == 50


def test_a_rank_without_the_copy(tmp_path):
    """One message, which says what to do."""
    path = tmp_path / "a.gkr"
    write_ratings(as_ratings(frame(50)), path)

    def work(team):
        here = path if team.rank == 0 else tmp_path / "elsewhere.gkr"
        return read_parts.read_parts(here, team)

    for error in together(2, work):
        assert "No such file or directory for rank 1" in str(error) and "Give all ranks the same files" in str(error)
        assert error.exit_code == DataError.exit_code


def test_other_splits_are_refused():
    ratings = synth_ratings("ml-10m", 0.0001)
    with pytest.raises(ParameterError, match="by='time'"):
        parts.part_of(ratings, ALONE).split(0.1, by="time")


@pytest.mark.parametrize("size, each", [(1, 1), (7, 3), (1 << 16, 2)])
def test_ratings_move_to_the_owners_of_their_users(monkeypatch, size, each):
    """In messages of any size, and when ranks have different numbers of ratings; order: group, rank, then as before."""
    monkeypatch.setattr(parts, "ROUND", (size, size))
    whole = synth_ratings("ml-10m", 0.0001).take(slice(300))
    group = np.random.default_rng(0).integers(0, 3 * each, whole.shape[0]).astype(np.int32)
    cuts = [0, 20, 20, len(whole)]

    def work(team):
        return redistribute(whole.take(slice(*cuts[team.rank : team.rank + 2])), group, team, each)

    for rank, (result, sizes) in enumerate(together(3, work)):
        rows = [np.flatnonzero(group[whole.users] == number) for number in range(each * rank, each * (rank + 1))]
        assert sizes.tolist() == list(map(len, rows))
        for name, column in whole.take(np.concatenate(rows)).columns().items():
            np.testing.assert_array_equal(getattr(result, name), column)


def test_ranges_have_equal_numbers_of_ratings():
    counts = np.random.default_rng(1).integers(0, 50, 1000)
    owner = in_ranges(counts, 4)
    assert (np.diff(owner) >= 0).all() and np.ptp(np.bincount(owner, counts)) <= 2 * counts.max()
    assert in_ranges(np.zeros(5, np.int64), 3).tolist() == [0] * 5


def test_a_packed_part_is_as_before():
    """`local` comes back from the Orders of its users; meanwhile ids and shape are there."""
    whole = synth_ratings("ml-10m", 0.001)
    whole = whole.take(whole.users % 3 > 0)
    part = parts.part_of(set_state(whole.take(np.lexsort((whole.items, whole.users))), DISTINCT), ALONE)
    expected = part.local
    users = np.flatnonzero(np.bincount(part.users))
    rows = np.searchsorted(users, part.users).astype(np.int32)
    own = Ratings(rows, part.items, part.values, part.user_ids[users], part.item_ids)
    part.pack(order_ratings(own, resolve("cpu"), ALONE, lambda: part.release(users)), users)
    assert "local" not in vars(part)
    assert part.shape == whole.shape and len(part) == len(whole) and part.user_ids is whole.user_ids
    assert "local" not in vars(part)
    for name, column in expected.columns().items():
        np.testing.assert_array_equal(getattr(part, name), column, name)
    assert part.local._state == DISTINCT
    assert not hasattr(part, "more")


def part_of(size, parts, order):
    """Return the result of each rank; the ranks have the data frames of a list in any order."""
    shares = [[(k, parts[k]) for k in order if k % size == rank] for rank in range(size)]
    return together(size, lambda team: read_parts.part_of_frames(shares[team.rank], team))


@pytest.mark.parametrize("size, order", [(2, range(8)), (3, [7, 3, 2, 5, 0, 1]), (4, [1, 5])], ids=str)
@pytest.mark.parametrize("kinds", [(int, int), (str, str), (int, str)], ids=["int", "str", "both"])
def test_frames_are_numbered_like_one(size, order, kinds):
    """Ids are those of all parts; some ranks have none, and one part has no rows."""
    table = frame(300)
    parts = [part.astype({"item": kinds[k % 2]}) for k, part in enumerate(pieces(table, 7))] + [table.iloc[:0]]
    used = pandas.concat([parts[k] for k in order])
    expected = as_ratings(used.astype({"item": str if str in kinds else int}))
    results = part_of(size, parts, order)
    for result in results:
        np.testing.assert_array_equal(result.user_ids, expected.user_ids)
        np.testing.assert_array_equal(result.item_ids, expected.item_ids)
    assert sorted(itertools.chain(*(triples(result.local) for result in results))) == sorted(triples(expected))


@pytest.mark.parametrize("size", SIZES)
def test_of_equal_times_the_later_row_counts(size):
    """By the order of the pieces, not by the rank that has them."""
    table = pandas.concat([frame(200), frame(200).assign(rating=lambda rows: rows["rating"] % 5 + 1)] * 2)
    table["timestamp"] = np.random.default_rng(0).integers(0, 3, len(table))
    expected = as_ratings(table)
    results = part_of(size, pieces(table, 7), [3, 0, 6, 5, 1, 2, 4])
    assert expected.merged == 600 and {result.merged for result in results} == {600}
    assert sorted(itertools.chain(*(triples(result.local) for result in results))) == sorted(triples(expected))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda table: pandas.concat([table, table]), "300 of 600 ratings .* repeat a pair of user and item"),
        (
            lambda table: table.assign(rating=table["rating"].where(table.index != 250)),
            "Partition 5 .*: Row .* no rating",
        ),
    ],
    ids=["repeats", "missing"],
)
def test_bad_frames_are_refused_by_all_ranks(change, message):
    results = part_of(2, pieces(change(frame(300)), 7), range(7))
    for result in results:
        with pytest.raises((DataError, TeamError), match=message):
            raise result
