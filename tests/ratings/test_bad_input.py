"""Invalid files: one clear line with the file, the line and the remedy."""

import re

import pandas
import pytest

from gpukit.errors import DataError, ParameterError
from gpukit.ratings import as_ratings, read_pairs, read_ratings, read_titles, write_ratings
from gpukit.ratings.adopt import pairs_of

GOOD = "".join(f"{row % 7},{row},3\n" for row in range(500))


@pytest.mark.parametrize(
    "line, message",
    [
        ("1,2", "has 2 column"),
        ("1,2,3,4", "has 4 column"),
        ("1,2,abc", "'abc' is not a number"),
        ("1,2,", "'' is not a number"),
        ("1,2,nan", "'nan' is not a finite"),
        ("1,2,-inf", "'-inf' is not a finite"),
        ("1,2,1e39", "'1e39' is not a finite float32: it is larger than float32 holds"),
        ("1,2,-1e-46", "'-1e-46' is closer to 0 than float32 holds"),
        ("1,2,1_0", "'1_0' is not a number"),
        ("1,2,4.5.1", "'4.5.1' is not a number"),
        ("1,2,4x", "'4x' is not a number"),
        (",2,3", "no user id"),
        ("1, ,3", "no item id"),
        ('1,"2,3', "quote"),
        ('"1"0,2,3', "text behind a quoted field"),
        ('1,"a" b "c",3', "text behind a quoted field"),
    ],
)
@pytest.mark.parametrize("before", [1, 250])
def test_the_line_is_named(tmp_path, monkeypatch, line, message, before):
    for header, newline in (("", "\n"), ("user,item,rating\n\n", "\r\n")):
        lines = (header + "".join(GOOD.splitlines(True)[:before]) + line + "\n" + GOOD).replace("\n", newline)
        (tmp_path / "bad.csv").write_text(lines, newline="")
        number = before + 1 + header.count("\n")
        for block in (1 << 20, 100):
            monkeypatch.setattr("gpukit.ratings.chunk_reader.BLOCK", block)
            with pytest.raises(DataError, match=message) as caught:
                read_ratings(tmp_path / "bad.csv")
            assert f"bad.csv, line {number}" in str(caught.value)


def test_the_first_of_several_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("gpukit.ratings.chunk_reader.BLOCK", 64)
    (tmp_path / "bad.csv").write_text(GOOD + "1,2,x\n1,2\n" + GOOD + "1,2,3,4\n")
    with pytest.raises(DataError, match="line 501:"):
        read_ratings(tmp_path / "bad.csv")
    (tmp_path / "bad.csv").write_text(GOOD + "1,2\n" + GOOD + "1,2,x\n" + GOOD + "1,2,3,4\n")
    with pytest.raises(DataError, match="line 501 has 2"):
        read_ratings(tmp_path / "bad.csv")


@pytest.mark.parametrize("between", range(0, 130, 13))
def test_the_first_is_named_whatever_range_the_next_is_in(tmp_path, monkeypatch, between):
    monkeypatch.setattr("gpukit.ratings.chunk_reader.BLOCK", 64)
    lines = GOOD.splitlines(True)
    (tmp_path / "bad.csv").write_text("".join([*lines[:200], "1,2\n", *lines[:between], "1,2,x\n", *lines[:100]]))
    with pytest.raises(DataError, match="line 201 has 2"):
        read_ratings(tmp_path / "bad.csv")


UNCLEAR = "which columns are user, item and rating is not clear. Name them in order with --columns"
MATRICES = (
    b"matrix coordinate complex general",
    b"matrix coordinate real symmetric",
    b"matrix coordinate pattern skew-symmetric",
    b"MATRIX coordinate real Hermitian",
    b"matrix array real general",
    b"vector coordinate real general",
)


@pytest.mark.parametrize(
    "text, message",
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"user,item,rating\n", "no ratings"),
        (b"film,viewer,points\n1,2,3\n", UNCLEAR),
        (b"1,2,x\n1,2,3\n", "'x' is not a number"),
        (b"kunde,ware\n1,2\n", UNCLEAR),
        (b"user,item\n", "no ratings"),
        (b"user,item,note\n1,2,3\n", UNCLEAR),
        (b"hello\n", "1 column"),
        (b"1:\n2:\n", "no ratings"),
        (b"%%MatrixMarket matrix coordinate real general\n% a\n", "line 3: expected `users items ratings`"),
        (b"1:\n2,3,2005-01-01\n4,5\n", "line 3 has 2"),
        (b"1:\n5\n6\n", "without ratings"),
        (b"\xff\xfeu\0", "UTF-8"),
        (b"\x00\x01\x02", "not a text"),
        (b"%%MatrixMarket\n1 2\n", "users items ratings"),
        (b"%%MatrixMarket\n1 2 3\n", "no ratings"),
        (b"%\n1 2 1\n1\n", "1 columns"),
        *(
            (b"%%MatrixMarket " + kind + b"\n3 3 1\n2 1 4\n", "again as `matrix coordinate real general`")
            for kind in MATRICES
        ),
        (b"PK\x03\x04 not a zip", "damaged"),
        (b"\x1f\x8b not gzip", "damaged|cannot be read"),
        (b"\xfd7zXZ\0 not xz", "damaged"),
    ],
)
def test_no_ratings_in_it(tmp_path, text, message):
    path = tmp_path / "bad.dat"
    path.write_bytes(text)
    with pytest.raises(DataError, match=message) as caught:
        read_ratings(path)
    assert "bad.dat" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "ratings, words",
    [
        (("3,5", "4.5"), r"line 1: the rating '3,5' has a decimal comma.* with a point: 3\.5"),
        (("4.5", "3,5"), r"line 2: the rating '3,5' has a decimal comma"),
        (("1,234", "5"), r"line 1: the rating '1,234' has a comma, of thousands or a decimal one"),
        (("1", "1.234,5"), r"line 2: the rating '1\.234,5' has marks of thousands"),
        (("1", "1,234,567"), r"line 2: the rating '1,234,567' has marks of thousands"),
    ],
)
def test_commas_that_may_mean_two_things_are_told(tmp_path, ratings, words):
    (tmp_path / "bad.csv").write_text("".join(f"u1;i{row};{one}\n" for row, one in enumerate(ratings)))
    with pytest.raises(DataError, match=words):
        read_ratings(tmp_path / "bad.csv")


@pytest.mark.parametrize("line", ["u1,x;y;z", "1,2;3", "a;b,c;d", "new york 1,2 nd", "x 1,2"])
def test_pairs_with_semicolons_are_pairs(tmp_path, line):
    (tmp_path / "pairs.csv").write_text(line + "\n")
    read = read_ratings(tmp_path / "pairs.csv")
    assert [str(read.user_ids[0]), str(read.item_ids[0])] == line.split(",")


@pytest.mark.parametrize(
    "header, columns",
    [
        ("rating,title,date,user", "rating,item,timestamp,user"),
        ("viewer,film,seen,stars", "user,item,-,rating"),
        ("who,film,seen", "user,item,-,rating"),
        ("wer,was,wann", "user,item,-,rating"),
    ],
)
def test_a_header_that_is_not_known_is_helped(tmp_path, header, columns):
    (tmp_path / "bad.csv").write_text(header + "\n" + ",".join("1" for _ in header.split(",")) + "\n")
    with pytest.raises(DataError) as caught:
        read_ratings(tmp_path / "bad.csv")
    assert UNCLEAR in str(caught.value) and f"(such as {columns};" in str(caught.value)


def test_missing_file_and_folder(tmp_path):
    for read in (read_ratings, read_pairs, read_titles):
        with pytest.raises(DataError, match="does not exist"):
            read(tmp_path / "none.csv")
    for name in ("", "ratings.csv", "u.data"):  # none, then one, then several
        if name:
            (tmp_path / name).write_text("1\t2\t3\n")
        if name != "ratings.csv":
            with pytest.raises(DataError, match="holds no ratings, or several files of them"):
                read_ratings(tmp_path)


def test_unclear_arguments(tmp_path):
    (tmp_path / "a.csv").write_text("1,2,3\n")
    with pytest.raises(ParameterError, match="duplicates"):
        read_ratings(tmp_path / "a.csv", duplicates="first")
    (tmp_path / "a.csv").write_text("1:\n2,3,2005\n")
    with pytest.raises(ParameterError, match="columns and sep"):
        read_ratings(tmp_path / "a.csv", format="netflix", columns="user,item,rating")


@pytest.mark.parametrize(
    "suffix, options", [(".gkr", ("columns", "sep")), (".npz", ("columns", "sep")), (".parquet", ("sep",))]
)
def test_options_that_a_copy_has_no_use_for(tmp_path, suffix, options):
    path = tmp_path / f"copy{suffix}"
    write_ratings(as_ratings(([1, 1, 2], [1, 2, 1], [3.0, 4.0, 5.0])), path)
    values = {"columns": "user,item", "sep": ";"}
    for option in options:
        with pytest.raises(ParameterError, match=f"cannot be used for .*Leave out {option}"):
            read_ratings(path, **{option: values[option]})


def test_double_colons_within_ids(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("std::vector,5,3.0\nstd::map,6,4.0\n")
    assert read_ratings(path).user_ids.tolist() == ["std::map", "std::vector"]
    path.write_text("user 1::5::3.0\nuser 2::6::4.0\n")
    assert read_ratings(path).user_ids.tolist() == ["user 1", "user 2"]


@pytest.mark.parametrize(
    "header, columns, example",
    [
        ("timestamp,user,item,rating", "user,item,rating", "-,user,item,rating"),
        ("item,user,rating", "user,item,rating", "item,user,rating"),
        ("user,item,time,rating", "user,item,rating", "user,item,-,rating"),
        ("user,item,rating,plays", "user,item,count", "user,item,-,count"),
        ("id,userId,movieId,stars", "user,item,rating", "-,user,item,rating"),
    ],
)
def test_columns_as_a_selection(tmp_path, header, columns, example):
    """Names of the wanted columns alone, as pandas takes them, are read as the first ones of the file."""
    path, rows = tmp_path / "r.csv", [[1, 2, 3, 4], [5, 6, 7, 8]]
    frame = pandas.DataFrame(rows, columns=[*header.split(","), "x"][:4])
    frame.to_csv(path, index=False)
    for read, data in ((read_ratings, path), (as_ratings, frame)):
        with pytest.raises(DataError, match=f"is not the .* in their order, .* to ignore: {example}\\."):
            read(data, columns=columns)
        assert len(read(data, columns=f"{example},-" if example.count(",") == 2 else example)) == 2


@pytest.mark.parametrize("header", ["follower,user,rating", "user,item,plays", "a,b,c"])
def test_columns_that_say_what_a_header_does_not(tmp_path, header):
    (tmp_path / "r.csv").write_text(f"{header}\n1,2,3\n4,5,6\n")
    assert read_ratings(tmp_path / "r.csv", columns="user,item,rating").values.tolist() == [3, 6]


def test_two_columns_of_one_name(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("user,user,item,rating\n5,1,7,4\n6,2,8,3\n")
    with pytest.raises(DataError, match="several columns named 'user'. Keep one of them, or name it with --columns"):
        read_ratings(path)
    assert read_ratings(path, columns="-,user,item,rating").user_ids.tolist() == [1, 2]
    for header in ("user,User,item", "user,item,rating,date,date", "user,item,count,count"):
        path.write_text(f"{header}\n5,1,7,1,2\n6,2,8,2,1\n")
        with pytest.raises(DataError, match="several columns named '(user|date|count)'"):
            read_ratings(path)


@pytest.mark.parametrize(
    "header, example, roles",
    [
        ("user,user_id,item,rating,x", "user,-,item,rating,-", "'user' or 'user_id'"),
        ("userId,asin,parent_asin,rating,x", "user,item,-,rating,-", "'asin' or 'parent_asin'"),
        ("User,movie,stars,overall,date", "user,item,rating,-,-", "'stars' or 'overall'"),
        ("user,item,plays,count,date", "user,item,count,-,-", "'plays' or 'count'"),
    ],
)
def test_two_columns_of_one_role(tmp_path, header, example, roles):
    path = tmp_path / "r.csv"
    path.write_text(f"{header}\n5,1,7,1,2\n6,2,8,2,1\n")
    expected = (
        f"columns named {roles}. Keep one of them, or name it with --columns, - for the others (such as {example} of"
    )
    for read in (read_ratings, lambda path: as_ratings(pandas.read_csv(path))):
        with pytest.raises(DataError, match=re.escape(f"{expected} {header}).")):
            read(path)
    assert len(read_ratings(path, columns=example)) == 2


def test_two_columns_of_times_matter_to_those_who_ask_for_times(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating,timestamp,date\n1,2,3,9,2001-01-01\n1,2,4,8,2002-01-01\n")
    assert read_ratings(path).values.tolist() == [3]
    with pytest.raises(DataError, match="several columns named 'timestamp' or 'date'"):
        read_ratings(path, times=True)


def test_two_columns_of_users_of_pairs(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("user,user_id,item,rating,score\n5,1,7,1,2\n")
    with pytest.raises(DataError, match="several columns named 'user' or 'user_id'.*such as user,-,item,-,- of"):
        read_pairs(path)
    with pytest.raises(DataError, match="The DataFrame has several columns named 'user' or 'user_id'"):
        pairs_of(pandas.read_csv(path))


@pytest.mark.parametrize("line", ['{"rating": 4, "asin": "B1", "user_id": "A2"}', ' [{"user": 1, "item": 2}]'])
def test_json_is_told(tmp_path, line):
    (tmp_path / "reviews.jsonl").write_text(f"{line}\n{line}\n")
    with pytest.raises(DataError, match="reviews.jsonl holds JSON .* not a table. Make one of it first") as caught:
        read_ratings(tmp_path / "reviews.jsonl")
    assert ("lines=True" in str(caught.value)) == line.startswith("{")
    with pytest.raises(DataError, match="reviews.jsonl holds JSON"):
        read_pairs(tmp_path / "reviews.jsonl")


def test_a_table_of_users_by_items_is_told(tmp_path):
    names = ",".join(f"m{k}" for k in range(20))
    (tmp_path / "wide.csv").write_text(f"user,{names}\n" + "".join(f"{u}" + ",3" * 20 + "\n" for u in range(9)))
    with pytest.raises(DataError, match="column for each item needs a line for each rating instead .pandas: melt."):
        read_ratings(tmp_path / "wide.csv")


@pytest.mark.parametrize("line", ["7,8,3,pv,1511", "7 8 3 11 15 19", "7::8::3::4::5"])
def test_many_columns_without_names(tmp_path, line):
    """As user, item, category, behaviour and time, or a user and all items: the third column is not a rating."""
    (tmp_path / "t.txt").write_text(f"{line}\n" * 3)
    with pytest.raises(
        DataError, match=r"line 1: .*which columns are user, item and rating is not clear.*pandas: melt"
    ):
        read_ratings(tmp_path / "t.txt")
    read_pairs(tmp_path / "t.txt")
    width = len(line.replace("::", ",").replace(" ", ",").split(","))
    named = ",".join(["user", "item", "rating", *["-"] * (width - 3)])
    assert read_ratings(tmp_path / "t.txt", columns=named).values.tolist() == [3]
    frame = pandas.DataFrame([[7, 8, 3] + [1] * (width - 3)])
    with pytest.raises(
        DataError, match="The DataFrame: which columns are user, item and rating is not clear.*with columns="
    ):
        as_ratings(frame)
    assert as_ratings(frame.iloc[:, :4]).values.tolist() == as_ratings(frame, columns=named).values.tolist() == [3]


@pytest.mark.parametrize(
    "text",
    [
        "user,10,20,30\n1,3.0,5.0,0.0\n2,0.0,4.0,0.0\n",  # a column for each item
        "user,10,20\n1,3.0,5.0\n2,0.0,4.0\n",
        "user,10\n1,3.0\n2,0.0\n",
        "itemid;3;4\nx;1;2\n7;3;4\n".replace("x", "5"),
        "1,2014-04-07T10:51:09.277Z,214536502,0\n1,2014-04-07T10:54:09.868Z,214536500,0\n",  # a session, clicked then
        "user_1\t2009-05-04\t5\nuser_2\t2009-05-05\t4\n",
        "2009-05-04 user_1 5\n2009-05-05 user_2 4\n",
    ],
)
def test_first_lines_that_are_not_user_item_and_rating(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=r"line 1: .*: which columns are user, item and rating is not clear"):
        read_ratings(path)


def test_items_that_are_called_like_columns(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("alice,book,5\nbob,game,4\nu,count,3\n")
    assert read_ratings(path).item_ids.tolist() == ["book", "count", "game"]
    path.write_text("user,item,rating\n1,2014-04-07,5\n2,2014-04-08,4\n")
    assert read_ratings(path).item_ids.tolist() == ["2014-04-07", "2014-04-08"]


def test_parts_without_the_header_of_the_first_one(tmp_path):
    """As of a file that was split: the order of their columns is known if it is the usual one."""
    for header, is_usual in (("user,item,rating", True), ("item,user,rating", False)):
        (tmp_path / "a.csv").write_text(f"{header}\n1,7,3\n")
        (tmp_path / "b.csv").write_text("2,8,4\n")
        if is_usual:
            assert read_ratings(tmp_path / "*.csv").user_ids.tolist() == [1, 2]
        else:
            with pytest.raises(DataError, match="b.csv has no header, and that of .*a.csv has another order"):
                read_ratings(tmp_path / "*.csv")
        assert read_ratings(tmp_path / "*.csv", columns=header).values.tolist() == [3, 4]


@pytest.mark.parametrize("first", ["1::2::3\n", '"1"::2::3\n'])
def test_a_separator_of_two_letters_in_quotes(tmp_path, first):
    (tmp_path / "ratings.dat").write_text(first + '"a::b"::2::1\n')
    assert read_ratings(tmp_path / "ratings.dat").user_ids.tolist() == ["1", "a::b"]


@pytest.mark.parametrize("word", ["x", "nan", "", "4/5", "1,5;"])
@pytest.mark.parametrize("columns, role", [("user,item,rating", "rating"), ("user,item,count", "count")])
def test_a_first_line_with_a_wrong_number_is_no_header(tmp_path, columns, role, word):
    path = tmp_path / "named.tsv"
    path.write_text(f"1\t2\t{word}\n1\t3\t4\n")
    with pytest.raises(DataError, match=f"line 1: the {role} .* is not a"):
        read_ratings(path, columns=columns)
    path.write_text(f"who\twhat\t{word}\n1\t3\t4\n")
    assert read_ratings(path, columns=columns).item_ids.tolist() == [3]


def test_named_columns_of_pairs_below_unknown_words(tmp_path):
    path = tmp_path / "named.csv"
    path.write_text("who,what\n7,1\n8,2\n")
    assert read_ratings(path, columns="user,item").user_ids.tolist() == [7, 8]
    with pytest.raises(DataError, match="Name them in order with --columns"):
        read_ratings(path)
