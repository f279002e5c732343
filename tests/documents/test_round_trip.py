"""Documents written and read again keep all ids and comments; text rejects those it cannot represent."""

import csv

import numpy as np
import pytest
from odd_words import HEADERS, LOST, WORDS, drawn_words

from gpukit.documents import Documents, read_letor, write_letor
from gpukit.errors import DataError

ALL_WORDS = [*dict.fromkeys([*WORDS, *HEADERS, "x,label,qid,y", "\tlabel\tqid"])]


def of_words(qids, comments=None):
    """Return documents with one query per word and one feature."""
    rows = np.arange(len(qids), dtype=np.float64)
    comments = None if comments is None else np.array(comments, str)
    return Documents(rows[:, None] + 1, rows, np.arange(len(qids) + 1), np.array(qids, str), comments)


def is_same(one, other):
    """Return True if two documents have the same ids, comments, labels and features."""
    comments = [None if part.comments is None else part.comments.tolist() for part in (one, other)]
    ids = [part.qids.astype(str).tolist() for part in (one, other)]
    return ids[0] == ids[1] and comments[0] == comments[1] and (one.X == other.X).all() and (one.y == other.y).all()


@pytest.mark.parametrize("word", ALL_WORDS, ids=ascii)
@pytest.mark.parametrize("kind", ["qid", "comment"])
def test_text_gives_a_word_back_or_refuses_it(tmp_path, word, kind):
    made = of_words([word, "zz"]) if kind == "qid" else of_words(["q", "zz"], [word, "x"])
    must_refuse = set(word) & set(" \t\r\n#") if kind == "qid" else set(word) & set("\r\n") or word != word.strip(" \t")
    path = tmp_path / "a.txt"
    if must_refuse:
        with pytest.raises(DataError, match="text cannot hold it") as caught:
            write_letor(made, path)
        assert str(caught.value).isprintable() and list(tmp_path.iterdir()) == []
    else:
        write_letor(made, path)
        assert is_same(read_letor(path), made)


@pytest.mark.parametrize("word", LOST, ids=ascii)
def test_text_refuses_what_utf8_cannot_hold(tmp_path, word):
    made = [of_words([word, "zz"])] + ([of_words(["q", "zz"], [word, "x"])] if word else [])
    for documents in made:
        with pytest.raises(DataError, match="text cannot hold it") as caught:
            write_letor(documents, tmp_path / "a.txt")
        assert str(caught.value).isprintable() and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("suffix", ["txt", "gkl", "parquet"])
def test_many_words_come_back(tmp_path, seed, suffix):
    words = [*dict.fromkeys([*ALL_WORDS, *drawn_words(seed, 200)])]
    if suffix == "txt":
        words = [word for word in words if not set(word) & set(" \t\r\n#")]
    made = of_words(words, words[::-1])
    write_letor(made, tmp_path / f"a.{suffix}")
    assert is_same(read_letor(tmp_path / f"a.{suffix}"), made)


@pytest.mark.slow
@pytest.mark.parametrize("sep", [",", ";", "\t", " "])
@pytest.mark.parametrize("seed", range(3))
def test_quoted_fields_of_tables_are_exact(tmp_path, sep, seed):
    """Query ids and comments in quotes: many per file and, for the first seed, one unusual one."""
    words, path = [*dict.fromkeys([*ALL_WORDS, *drawn_words(seed, 150)])], tmp_path / "a.csv"
    for some in [words, *([word] for word in words if not seed)]:
        with open(path, "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, delimiter=sep, quoting=csv.QUOTE_ALL)
            rows.writerow(["label", "qid", "f", "comment"])
            rows.writerows([*((1, word, 2, word) for word in some), (0, "zz", 3, "y")])
        found = read_letor(path)
        assert found.qids.astype(str).tolist() == [*some, "zz"] and found.comments.tolist() == [*some, "y"]


def test_quotes_within_an_unquoted_field_are_its_own(tmp_path):
    """RFC 4180: quotes are doubled only within quotes."""
    path = tmp_path / "a.csv"
    path.write_text('label,qid,f\n1,a""b,2\n1,"a""b",2\n0,a"b,3\n0, c ,1\n1,"c",1\n0," c ",1\n')
    assert read_letor(path).qids.tolist() == ['a""b', 'a"b', "c", " c "]


@pytest.mark.parametrize("word", [word for word in LOST if word], ids=ascii)
@pytest.mark.parametrize("suffix", ["txt", "gkl", "parquet"])
@pytest.mark.parametrize("kind", ["qid", "comment", "name"])
def test_what_no_copy_holds_is_refused_in_one_line(tmp_path, word, suffix, kind):
    """Surrogates and null bytes: a copy represents them exactly, or rejects them."""
    comments = [word, "x"] if kind == "comment" else None
    made = of_words([word, "zz"]) if kind == "qid" else of_words(["q", "zz"], comments)
    made = made._replace(names=np.array([word])) if kind == "name" and suffix != "txt" else made
    path = tmp_path / f"a.{suffix}"
    try:
        write_letor(made, path)
    except DataError as error:
        assert str(error).isprintable() and list(tmp_path.iterdir()) == []
    else:
        found = read_letor(path)
        assert is_same(found, made) and (made.names is None or found.names.tolist() == [word])
