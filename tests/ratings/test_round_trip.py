"""Ratings written as text are read back exactly for all ids; ids that text cannot represent are rejected."""

import bz2
import csv
import gzip
import lzma

import numpy as np
import pytest
from odd_words import HEADERS, LOST, WORDS, drawn_words
from support import thinned

from gpukit.errors import DataError
from gpukit.factorization.lists.files import read_categories, read_items
from gpukit.io.sources import CHUNK
from gpukit.ratings import Ratings, as_ratings, read_pairs, read_ratings, read_titles, write_ratings

LONG = b'"a\nb\r\n\nc","d\n\n\n\n\n\n\n\ne",4\nf,g,5\n'
PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def triples(ratings):
    """Return [(user, item, value, time)] of ratings, ids as text, in order."""
    times = ratings.times if ratings.times is not None else np.zeros(len(ratings))
    columns = (ratings.user_ids[ratings.users], ratings.item_ids[ratings.items], ratings.values, times)
    return sorted(
        zip(*(column.tolist() for column in columns), strict=True), key=lambda row: (str(row[0]), str(row[1]))
    )


def of_words(words, seed=0):
    """Return ratings of users with these ids for items with the same in another order."""
    values = np.random.default_rng(seed).integers(1, 6, len(words)).astype(np.float32)
    return as_ratings((np.array(words, str), np.array(words[::-1], str), values))


@pytest.mark.parametrize("seed, suffix", thinned(range(8), [".csv", ".gkr", ".npz", ".parquet"], share=4))
def test_ids_of_any_letters_come_back(tmp_path, suffix, seed):
    words = [*dict.fromkeys([*WORDS, *drawn_words(seed, 400)])]
    ratings, path = of_words(words, seed), tmp_path / f"ratings{suffix}"
    write_ratings(ratings, path)
    found = read_ratings(path)
    assert triples(found) == triples(ratings) and found.user_ids.tolist() == ratings.user_ids.tolist()
    write_ratings(found, tmp_path / "again.csv")
    assert triples(read_ratings(tmp_path / "again.csv")) == triples(ratings)
    users, items = read_pairs(tmp_path / "again.csv")
    assert set(zip(users.tolist(), items.tolist())) == set(zip(words, words[::-1]))


@pytest.mark.parametrize("word", [*WORDS, *HEADERS], ids=ascii)
def test_one_odd_id_comes_back(tmp_path, word):
    ratings = as_ratings((np.array([word, "b"]), np.array(["x", word]), np.array([1.0, 2.0], np.float32)))
    write_ratings(ratings, tmp_path / "one.csv")
    assert triples(read_ratings(tmp_path / "one.csv")) == triples(ratings)


@pytest.mark.parametrize("pack", PACKERS)
def test_quoted_line_ends_are_read_from_packed_text(tmp_path, pack):
    ratings = of_words(WORDS)
    write_ratings(ratings, tmp_path / "plain.csv")
    path = tmp_path / f"ratings.csv{pack}"
    path.write_bytes(PACKERS[pack]((tmp_path / "plain.csv").read_bytes()))
    assert triples(read_ratings(path)) == triples(ratings)


@pytest.mark.parametrize("word", LOST, ids=ascii)
def test_ids_that_text_loses_are_refused_before_a_file_appears(tmp_path, word):
    for users, items in (([word, "b"], ["x", "y"]), (["a", "b"], ["x", word])):
        (user_ids, users), (item_ids, items) = (np.unique(ids, return_inverse=True) for ids in (users, items))
        columns = {"users": users.astype(np.int32), "items": items.astype(np.int32), "values": np.ones(2, np.float32)}
        ratings = Ratings(**columns, user_ids=user_ids, item_ids=item_ids)
        with pytest.raises(DataError, match="text cannot hold it") as caught:
            write_ratings(ratings, tmp_path / "lost.csv")
        assert str(caught.value).isprintable() and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sep", [",", "\t", ";", "|", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("header", [True, False])
def test_fields_quoted_by_others_are_exact(tmp_path, sep, end, header):
    words = [word for word in WORDS if word.isprintable() or "\n" in word or "\r" in word]
    path, rows = tmp_path / "other.csv", [(word, f"i{at}", at % 5) for at, word in enumerate(words)]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=sep, lineterminator=end, quoting=csv.QUOTE_ALL)
        writer.writerows([*([("user", "item", "rating")] if header else []), *rows])
    assert {row[:2] for row in triples(read_ratings(path))} == {row[:2] for row in rows}


def test_a_quoted_line_end_at_the_end_of_a_block(tmp_path):
    for shift in range(8):
        fill = CHUNK - 40 + shift
        path = tmp_path / f"block{shift}.csv"
        path.write_bytes(
            b"user,item,rating\n" + b"1,2,3\n" * (fill // 6) + b'"a\nb\r\n\nc","d\n\n\n\n\n\n\n\ne",4\nf,g,5\n'
        )
        found = read_ratings(path)
        assert triples(found) == [("1", "2", 3, 0), ("a\nb\r\n\nc", "d" + "\n" * 8 + "e", 4, 0), ("f", "g", 5, 0)]


def test_lines_are_counted_with_quoted_line_ends(tmp_path):
    path = tmp_path / "wrong.csv"
    path.write_bytes(b'user,item,rating\n"a\nb",c,1\n"d\r\ne",f,x\n')
    with pytest.raises(DataError, match="line 5: the rating 'x'"):
        read_ratings(path)
    path.write_bytes(b'user,item,rating\n"a\nb",c,1\n"d,f,2\ng,h,3\n')
    with pytest.raises(DataError, match="line 4 opens a quote"):
        read_ratings(path)


def test_titles_and_items_with_quoted_line_ends(tmp_path):
    words, path = [word for word in WORDS if word.strip()], tmp_path / "titles.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("item", "title"), *((word, f"t {word}") for word in words)])
    assert read_titles(path) == {word: f"t {word}" for word in words}
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("item", "category"), *((word, "c") for word in words)])
    assert read_categories(path) == {"c": words} and read_items(path) == words


def test_quotes_within_an_unquoted_field_are_its_own(tmp_path):
    """RFC 4180: quotes are doubled only within quotes, so these are two users."""
    path = tmp_path / "quotes.csv"
    path.write_text('user,item,rating\na""b,x,1\n"a""b",x,2\n"a""""b",y,3\na"b,y,4\n"7",x,5\n7,y,1\n')
    assert triples(read_ratings(path)) == [
        ("7", "x", 5, 0),
        ("7", "y", 1, 0),
        ('a""b', "x", 1, 0),
        ('a""b', "y", 3, 0),
        ('a"b', "x", 2, 0),
        ('a"b', "y", 4, 0),
    ]


@pytest.mark.parametrize("word", [word for word in LOST if word], ids=ascii)
@pytest.mark.parametrize("suffix", [".csv", ".gkr", ".npz", ".parquet"])
def test_what_no_copy_holds_is_refused_in_one_line(tmp_path, word, suffix):
    """Surrogates and null bytes: a copy represents them exactly, or rejects them."""
    ratings = as_ratings((np.array([word, "b"]), np.array(["x", word]), np.ones(2, np.float32)))
    path = tmp_path / f"a{suffix}"
    try:
        write_ratings(ratings, path)
    except DataError as error:
        assert str(error).isprintable() and list(tmp_path.iterdir()) == []
    else:
        assert triples(read_ratings(path)) == triples(ratings)


@pytest.mark.slow
def test_titles_come_back(tmp_path):
    """Items and titles in the commands' csv, many and one per file."""
    from gpukit.cli.outputs import write_csv

    words, path = [word for seed in range(4) for word in drawn_words(seed, 200)], tmp_path / "titles.csv"
    words = [*dict.fromkeys([*WORDS, *HEADERS, *words])]
    titles = dict(zip(words, words[::-1], strict=True))
    write_csv(str(path), ["item", "title"], [lambda: [words, words[::-1]]])
    assert read_titles(path) == titles
    assert read_items(path) == words
    for word in words:
        write_csv(str(path), ["item", "title"], [lambda word=word: [[word], [word]]])
        assert [(str(item), title) for item, title in read_titles(path).items()] == [(word, word)]
