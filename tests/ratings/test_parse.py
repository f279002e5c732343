"""Ratings in text: numbers as in Python, for any division into blocks; pyarrow's blocks equal line-by-line reading."""

import io

import numpy as np
import pandas
import pytest
from odd_words import spelled
from support import thinned

from gpukit.errors import DataError
from gpukit.io import delimited
from gpukit.io.words import decode
from gpukit.ratings import chunk_reader, read_ratings
from gpukit.ratings.formats import Layout
from ratings import naive


def test_ratings_in_any_spelling(tmp_path):
    words = [word for word in spelled(np.random.default_rng(1), 2000)]
    (tmp_path / "a.csv").write_text("".join(f"{at},1,{word}\n" for at, word in enumerate(words)))
    expected = np.array([np.float32(float(word)) for word in words])
    assert np.array_equal(read_ratings(tmp_path / "a.csv").values, expected)


IDS = [
    "1",
    "7",
    "12",
    "-3",
    "0",
    "007",
    "-0",
    "0x7",
    "0X7",
    "x",
    "a b",
    "\u00e9",
    "9223372036854775807",
    "9223372036854775808",
]
ODD_IDS = [
    '"7"',
    '"a,b"',
    '"a""b"',
    '"\n"',
    '" 7"',
    '""""',
    " 7",
    "7 ",
    "\t7",
    '5"',
    '"a"x',
    '""x',
    '""',
    "",
    "+7",
    "1e5",
    "\x1f",
]
PLACES = {"users": 0, "items": 1, "values": 2, "times": 3}
NUMBERS = ["1", "3.5", "0", "05", ".5", "5.", "-2", "1e1", "+4", " 3", "3 ", '"3"', "12345.6789012345678"]
ODD_NUMBERS = ["", "x", "nan", "inf", "1e400", "1e39", "1e-46", "3,5", '"3,5"', "1_0", "0x1", "1,234", "\x0b3", '"3" ']
TIMES = ["0", "978300760", "2005-09-06", "1e9", "0x10", "0X1F", "1.5", "2005-09-06T10:00:00", "", "x", "12_3"]


def lines_of(rng, sep, odd):
    """Return a few lines of user, item, rating and time, some of them unusual with some probability."""

    def one(usual, strange):
        return rng.choice(strange if rng.random() < odd else usual)

    for _ in range(rng.integers(1, 6)):
        ids = [word for word in IDS if sep != " " or " " not in word]
        words = [one(ids, ODD_IDS), one(ids, ODD_IDS), one(NUMBERS, ODD_NUMBERS), one(TIMES[:3], TIMES)]
        words += ["left"] * int(rng.random() < odd / 8)
        line = sep.join(words if rng.random() > odd / 8 else words[1:])
        yield line + rng.choice(["\n", "\r\n", "\n\n", " \n", "\r"] if rng.random() < odd else ["\n", "\r\n"])


def contents(block):
    """Return the columns of a block, ids as text."""
    out = {}
    for name, column in block.items():
        is_words = isinstance(column, delimited.Words)
        out[name] = np.array(column.texts())[column.index].tolist() if is_words else list(map(str, column.tolist()))
    return out


@pytest.mark.parametrize("sep, odd", thinned([",", "\t", ";", "|", " ", "::"], [0.0, 0.05, 0.5]))
def test_columns_are_what_they_are_line_by_line(sep, odd):
    rng = np.random.default_rng(len(sep) + ord(sep[0]))
    layout = Layout("csv", sep, 4, PLACES)
    read = compared = 0
    for _ in range(200):
        raw = "".join(lines_of(rng, sep, odd)).encode() + b"1%b1%b1%b1\n" % ((sep.encode(),) * 3)
        quick = chunk_reader.parse_columns(raw, layout, bounds=(-10, 20000))
        read += quick is not None
        try:
            slow = chunk_reader.parse_lines(raw, chunk_reader.Place("file", layout), bounds=(-10, 20000))
        except DataError:
            assert quick is None, raw
            continue
        if quick is not None:
            compared += 1
            assert contents(quick) == contents(slow), raw
    assert compared == read and (read == 200 if odd == 0 and sep != " " else read > 6)


def test_a_time_of_nineteen_digits_next_to_a_date():
    layout = Layout("csv", ",", 4, PLACES)
    block = chunk_reader.parse_columns(b"1,2,3,9223372036854775807\n1,3,3,1970-01-02\n", layout)
    assert block["times"].tolist() == [2**63 - 1, 86400]


def test_a_letter_that_stands_for_two_is_none_of_a_text():
    layout = Layout("movielens", "::", 3, {"users": 0, "items": 1, "values": 2})
    raw = b"1::2::3\na\x1fb::3\n"
    assert chunk_reader.parse_columns(raw, layout) is None
    with pytest.raises(DataError, match="line 2 has 2 column"):
        chunk_reader.parse_lines(raw, chunk_reader.Place("file", layout))


@pytest.mark.parametrize("odd", [0.0, 0.2])
def test_netflix_lines_get_their_movie(odd):
    rng = np.random.default_rng(5)
    usual, strange = (
        ["7:", "9:", "7,3,2005-09-06", "08,4,9"],
        ['"7\n8",3,2005-09-06', "7:,", "x:", " 7: ", "-5:", "7", "", " \t", "7,3,9\r"],
    )
    for _ in range(160):
        chosen = ["3:", *(str(rng.choice(strange if rng.random() < odd else usual)) for _ in range(9))]
        movie, expected = None, []
        for line in chosen:
            if line.strip() in ("3:", "7:", "9:", "-5:"):
                movie, line = line.strip()[:-1], ""
            expected.append(f"{movie},{line}\n" if line.strip() else line + "\n")
        cuts = [0, *sorted(rng.choice(np.arange(1, 10), 2, replace=False).tolist()), 10]
        blocks = ["".join(f"{line}\n" for line in chosen[a:b]).encode() for a, b in zip(cuts, cuts[1:])]
        assert b"".join(chunk_reader.with_movies(blocks, "file")) == "".join(expected).encode()


@pytest.mark.parametrize("sep", [",", " ", "::"])
def test_lines_are_split_as_they_are_spelled(sep):
    raw = sep.join(["a", "b", "3"]) + "\n\n" + sep.join(["\u00e9", "c", "4"]) + "\r\n"
    found = [[decode(word) for word in words] for _, _, words in delimited.lines(raw.encode("latin-1"), sep)]
    assert found == [["a", "b", "3"], ["\u00e9", "c", "4"]]


def test_words_of_several_blocks_are_numbered_together():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ab\0\u00e9"), rng.integers(0, 30))) for _ in range(500)]
    parts = [delimited.Words([word.encode() for word in words[start : start + 70]]) for start in range(0, 500, 70)]
    index, distinct = delimited.concatenate_words(parts)
    assert [distinct[at] for at in index] == words
    assert distinct == list(dict.fromkeys(words))


@pytest.mark.parametrize("sep", [",", ";", "::"])
@pytest.mark.parametrize("stray", [False, True])
def test_blocks_end_where_no_quote_is_open(sep, stray):
    rng = np.random.default_rng(1)
    rows = ['1,"a\nb",3\n', "1,2,3\n", '"x","y""\n\n",4\n', '"a\n1","b\n\n2\n",5\n', *['5",6,7\n'] * stray]
    picked = [rng.choice(rows).replace(",", sep) for _ in range(200)]
    letters = np.frombuffer("".join(picked).encode(), np.uint8)
    for size in (7, 30, 1000):
        ends = [0, *(np.flatnonzero(letters == ord("\n")) + 1).tolist()]
        cuts = sorted({0, len(letters), *(end for end in ends if rng.random() < 10 / size)})
        blocks = [letters[start:stop] for start, stop in zip(cuts, cuts[1:])]
        whole = list(delimited.whole_rows(blocks, sep))
        assert b"".join(whole) == letters.tobytes() and len(whole) > 1
        assert sum(len(list(delimited.lines(raw, sep))) for raw in whole) == len(picked), size
        assert all(len(words or ()) == 3 for raw in whole for _, _, words in delimited.lines(raw, sep))


@pytest.mark.parametrize("block, smallest", [(40, 1), (64, 7), (1000, 16), (1 << 20, 100), (1 << 20, 1 << 20)])
@pytest.mark.parametrize("text_ids", [False, True])
def test_any_block_and_range(tmp_path, monkeypatch, block, smallest, text_ids):
    monkeypatch.setattr("gpukit.io.sources.CHUNK", smallest)
    monkeypatch.setattr("gpukit.ratings.chunk_reader.BLOCK", block)
    rng = np.random.default_rng(2)
    prefix = "u" if text_ids else ""
    lines = [
        f"{prefix}{rng.integers(1, 10 ** rng.integers(1, 9))},{at},{rng.integers(0, 100) / 8:g}" for at in range(700)
    ]
    text = "user,item,rating\n" + "\n".join(lines) + rng.choice(["", "\n", "\r\n\n\n"])
    (tmp_path / "a.csv").write_text(text, newline="")
    ratings = read_ratings(tmp_path / "a.csv")
    users = ratings.user_ids[ratings.users].astype(str).tolist()
    found = list(zip(users, ratings.item_ids[ratings.items].astype(str).tolist(), ratings.values.tolist(), strict=True))
    assert found == naive.triples(text, header=True)
    frame = pandas.read_csv(io.StringIO(text))
    assert np.array_equal(ratings.values, frame.rating.to_numpy(np.float32))
    assert users == frame.user.astype(str).tolist()


@pytest.mark.parametrize("block, smallest", [(30, 1), (200, 20), (1 << 20, 64)])
def test_netflix_movies_carry_over_blocks(tmp_path, monkeypatch, block, smallest):
    monkeypatch.setattr("gpukit.io.sources.CHUNK", smallest)
    monkeypatch.setattr("gpukit.ratings.chunk_reader.BLOCK", block)
    rng = np.random.default_rng(3)
    text = "".join(
        f"{movie}:\n" + "".join(f"{user},{rng.integers(1, 6)},2005-01-01\n" for user in range(rng.integers(0, 30)))
        for movie in range(1, 60)
    )
    (tmp_path / "combined_data_1.txt").write_text(text)
    ratings = read_ratings(tmp_path)
    users, items = ratings.user_ids[ratings.users].astype(str), ratings.item_ids[ratings.items].astype(str)
    assert list(zip(users.tolist(), items.tolist(), ratings.values.tolist(), strict=True)) == naive.netflix(text)


def test_a_count_below_zero_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("user,item,count\n1,2,3\n1,3,-1\n")
    with pytest.raises(DataError, match="a.csv, line 3 has the count -1"):
        read_ratings(tmp_path / "a.csv")
