"""Tables written as csv equal those of a naive writer, for any number of threads and block size."""

import csv
import io
import threading

import numpy as np
import pandas
import pytest
from odd_words import HEADERS, WORDS, drawn_words
from pyarrow import parquet

from gpukit import get_num_threads, set_num_threads
from gpukit.errors import DataError
from gpukit.io import tables

AWKWARD = ["a\0b", '"', "a,b", " a", "a ", "a\nb", "#x", "%", "x #y", "a;b", "a|b", "\u00e9", "007", "-0", "\u2028"]
COMMON = {3.0: "3", 3.5: "3.5", 0.1: "0.1", -2.5: "-2.5", 0.0: "0", 100000.0: "100000", 1e-7: "1e-7", 1e20: "1e+20"}
AWKWARD_NUMBERS = np.array([*COMMON, 1e-45, 1.17549435e-38, 3.4028235e38, -0.0, 1e6, 1e-4, 9.5e-5, 123456.7], "f4")


@pytest.fixture(params=[1, 4])
def threads(request):
    before = get_num_threads()
    set_num_threads(request.param)
    yield request.param
    set_num_threads(before)


def naive_field(word):
    """Return a field in the naive writer's spelling: quoted if it is not printable or has special characters."""
    plain = word.isprintable() and not set(word) & set('",;|') and word == word.strip(" ")
    plain = plain and not word.startswith(("#", "%")) and " #" not in word
    return word if plain else '"' + word.replace('"', '""') + '"'


def naive_csv(names, *columns):
    """csv of columns of str, line by line."""
    lines = [names, *zip(*columns, strict=True)]
    return "".join(",".join(map(naive_field, line)) + "\n" for line in lines).encode()


def written(columns, count):
    file = io.BytesIO()
    tables.write_csv(file, columns, count)
    return file.getvalue()


@pytest.mark.parametrize("rows", [1, 7, 1 << 16])
def test_csv_equals_the_naive_writers(threads, monkeypatch, rows):
    monkeypatch.setattr(tables, "VALUES", 6 * rows)
    n = 100 if rows == 1 else 400  # a block costs more than its rows
    rng, words = np.random.default_rng(rows), [*AWKWARD, *WORDS, *HEADERS, *drawn_words(3, 200)]
    ids, which = np.array(words), rng.integers(0, len(words), n)
    numbers = rng.integers(-(2**62), 2**62, n)
    stars = rng.integers(1, 11, n).astype(np.float32) / 2
    known = tables.words(ids)
    columns = {
        "u,ser": lambda part: known.take(which[part]),
        "number": numbers.__getitem__,
        "word": ids[which].__getitem__,
        "title": lambda part: tables.spell_each(ids[which[part]], lambda word: word[::-1]),
        "list": lambda part: [words[at] for at in which[part]],
        "stars": stars.__getitem__,
    }
    texts = [ids[at] for at in which.tolist()]
    naive = [texts, map(str, numbers.tolist()), texts, [text[::-1] for text in texts], texts, [f"{x:g}" for x in stars]]
    result = written(columns, n)
    assert result == naive_csv(list(columns), *map(list, naive))
    rows = list(csv.reader(io.StringIO(result.decode(), newline="")))
    assert [row[0] for row in rows[1:]] == texts and len(rows) == n + 1


def test_floats_are_the_shortest_text_that_gives_them_back():
    bits = np.random.default_rng(0).integers(0, 2**32, 50_000, dtype=np.uint64).astype(np.uint32)
    numbers = bits.view(np.float32)
    numbers = np.concatenate([AWKWARD_NUMBERS, numbers[np.isfinite(numbers)]])
    texts = written({"x": numbers.__getitem__}, len(numbers)).decode().splitlines()[1:]
    np.testing.assert_array_equal(np.array(texts).astype(np.float32).view(np.uint32), numbers.view(np.uint32))
    assert texts[: len(COMMON)] == list(COMMON.values())
    digits = [text.lstrip("-").partition("e")[0].replace(".", "").strip("0") for text in texts]
    shortest = [np.format_float_scientific(x, trim="-").lstrip("-").partition("e")[0].replace(".", "") for x in numbers]
    assert [len(one) for one in digits] == [len(one.strip("0")) for one in shortest]


@pytest.mark.parametrize("places", [0, 4, 8])
def test_rounded_numbers_are_spelled_as_python_rounds(places):
    rng = np.random.default_rng(places)
    ties = (2 * rng.integers(-(10**4), 10**4, 5000) + 1) / 2.0 ** rng.integers(1, 10, 5000)
    numbers = np.concatenate([rng.normal(size=20_000), ties, [-1e-6, -0.0, np.nan, np.inf], AWKWARD_NUMBERS])
    numbers = numbers.astype(np.float32)
    texts = tables.spell_rounded(numbers, places).to_pylist()
    assert texts == [f"{number:.{places}f}" for number in numbers.tolist()]


def test_an_empty_table_has_a_header():
    columns = {"user": np.empty(0, int).__getitem__, "item": np.empty(0, str).__getitem__}
    assert written(columns, 0) == b"user,item\n"
    file = io.BytesIO()
    tables.write_parquet(file, columns, 0)
    assert pandas.read_parquet(file).columns.tolist() == ["user", "item"]


def test_wide_tables_have_blocks_of_few_rows(monkeypatch):
    monkeypatch.setattr(tables, "VALUES", 100)
    seen, column = [], np.arange(25)

    def take(part):
        seen.append(part.stop - part.start)
        return column[part]

    columns = {f"x{at}": take if at == 0 else column.__getitem__ for at in range(10)}
    assert written(columns, 25) == naive_csv(list(columns), *[[str(one) for one in column]] * 10)
    assert sorted(seen) == [5, 10, 10]


def test_the_first_error_ends_the_table(threads):
    before, file = threading.active_count(), io.BytesIO()

    def blocks():
        for at in range(1000):
            yield lambda at=at: [np.array([at])] if at < 3 else 1 / 0

    with pytest.raises(ZeroDivisionError):
        tables.write_blocks(file, ["x"], blocks())
    assert file.getvalue() == b"x\n0\n1\n2\n" and threading.active_count() == before


@pytest.mark.parametrize("word, why", [("a\0b", "byte of 0"), ("\ud800", "surrogate")])
def test_text_that_parquet_does_not_give_back_is_refused(word, why):
    for column in (np.array(["a", word]), ["a", word]):
        with pytest.raises(DataError, match=why):
            tables.write_parquet(io.BytesIO(), {"name": column.__getitem__}, 2)
    with pytest.raises(DataError, match=why):
        tables.write_parquet(io.BytesIO(), {word: np.arange(2).__getitem__}, 2)


def test_surrogates_are_refused_in_csv():
    for column in (np.array(["a", "\udcff"]), ["a", "\udcff"]):
        with pytest.raises(DataError, match="surrogate"):
            written({"name": column.__getitem__}, 2)


def test_parquet_gives_columns_back_in_row_groups(monkeypatch):
    monkeypatch.setattr(tables, "GROUP", 7)
    words = np.array(AWKWARD[1:])
    columns = {"word": words, "number": np.arange(len(words)), "star": np.arange(len(words)).astype(np.float32)}
    file = io.BytesIO()
    tables.write_parquet(file, {name: column.__getitem__ for name, column in columns.items()}, 14, {b"key": b"1"})
    table = parquet.read_table(file)
    assert parquet.ParquetFile(file).metadata.num_row_groups == 2 and table.schema.metadata[b"key"] == b"1"
    assert [str(kind) for kind in table.schema.types] == ["string", "int64", "float"]
    for name, column in columns.items():
        assert table[name].to_pylist() == column.tolist()
