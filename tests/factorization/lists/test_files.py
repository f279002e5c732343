"""Items and categories from files."""

import numpy as np
import pytest

from gpukit.errors import DataError
from gpukit.factorization.lists.files import read_categories, read_items
from gpukit.ratings import read_ratings, read_titles


def written(tmp_path, text):
    path = tmp_path / "some.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        "1\n2\n\n30\n",
        "item\n1\n2\n30",
        "1,Toy Story\n2,Jumanji\n30,x\n",
        "1::A::B\n2::C::D\n30::E::F",
        "\ufeff1\r\n2\r\n30\r\n",
        "title,item\n7,1\n8,2\n9,30\n",
        "id,genre,movieId\n7,Drama,1\n8,Drama,2\n9,War,30\n",
        "user,item\n7,1\n8,2\n9,30\n",
        "userId,movieId,rating,timestamp\n7,1,5,9\n8,2,4,9\n9,30,1,9\n",
        "plays\tartist\n7\t1\n8\t2\n9\t30\n",
    ],
)
def test_items(tmp_path, text):
    assert read_items(written(tmp_path, text)) == ["1", "2", "30"]


@pytest.mark.parametrize(
    "text",
    [
        "1,Drama\n2,Comedy\n2,Drama\n",
        "item,category\n1,Drama\n2,Comedy\n2,Drama\n",
        "1::Heat (1995)::Drama\n2::Big, Fat::Comedy|Drama\n",
        'movieId,title,genres\n1,"Heat, The",Drama\n2,Big,Comedy|Drama\n',
        "a\tgenre\n1\tDrama\n2\tComedy | Drama\n",
        "category,item\nDrama,1\nComedy,2\nDrama,2\n",
        "movieId,genres,year\n1,Drama,1995\n2,Comedy|Drama,1996\n",
    ],
)
def test_categories(tmp_path, text):
    assert read_categories(written(tmp_path, text)) == {"Drama": ["1", "2"], "Comedy": ["2"]}


@pytest.mark.parametrize(
    "text, message",
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"1,Drama\n2\n", "line 2 lacks an item or a category: '2'"),
        (b"1,Drama\n2,\n", "line 2"),
        (b"1,Drama\n,Drama\n", "line 2"),
        (b"1,Drama\n2,A||B\n", "line 2"),
        (b"item,category\n", "a header and nothing else"),
        (b"category,item\nDrama,1\nDrama\n", "line 3 lacks an item"),
        (b'1,Drama\n2,"Com\n', "line 2 opens a quote"),
        (b"1,Dra\0ma\n", "not a text file"),
    ],
)
def test_refused_categories(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_categories(written(tmp_path, text))


@pytest.mark.parametrize(
    "text, message", [(b"", "is empty"), (b"item\n", "names no item"), (b",a\n,b\n", "names no item")]
)
def test_refused_items(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_items(written(tmp_path, text))


@pytest.mark.parametrize("item", ["\u00a0a", "a\u2003", "\x1fa", "a\x85"])
def test_ids_keep_the_blanks_that_ids_of_ratings_keep(tmp_path, item):
    path = written(tmp_path, f"user,item,rating\n1,{item},3\n1,b,4\n")
    assert item in read_ratings(path).item_ids.tolist()
    assert read_items(written(tmp_path, f"{item}\nb\n")) == [item, "b"]
    assert read_categories(written(tmp_path, f"{item},Drama\nb,Comedy\n")) == {"Drama": [item], "Comedy": ["b"]}
    assert read_titles(written(tmp_path, f"item,title\n{item},One\nb,Two\n")) == {item: "One", "b": "Two"}


@pytest.mark.parametrize("text", ["1,2,30", "1;2;30\n", "1\t2\t30\r\n"])
def test_items_in_one_line_are_refused(tmp_path, text):
    path = written(tmp_path, text)
    for known in (np.array([1, 2, 30]), np.array(["1", "2", "30"])):
        with pytest.raises(DataError, match="has 3 items in its only line. Give a file with an item's id in each line"):
            read_items(path, known)
    assert read_items(path, np.array([1, 2])) == ["1"]


def test_one_line_of_an_item_and_its_title(tmp_path):
    assert read_items(written(tmp_path, "1,Toy Story"), np.array([1, 2])) == ["1"]
    assert read_items(written(tmp_path, "item,title\n1,2\n"), np.array([1, 2])) == ["1"]
