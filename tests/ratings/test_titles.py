"""Titles of items from the files of data sets."""

import pytest

from gpukit.errors import DataError
from gpukit.ratings import read_titles


@pytest.mark.parametrize(
    "text, titles",
    [
        (
            "1::Toy Story (1995)::Animation|Comedy\n2::Misérables, Les::Drama\n",
            {1: "Toy Story (1995)", 2: "Misérables, Les"},
        ),
        (
            "1,2003,Dinosaur Planet\n72,1974,At Home, A Stranger,Own\n4388,NULL,Ancient\n",
            {1: "Dinosaur Planet", 72: "At Home, A Stranger,Own", 4388: "Ancient"},
        ),
        (
            'movieId,title,genres\n1,"American President, The",Drama\r\n2,Heat,Action\n',
            {1: "American President, The", 2: "Heat"},
        ),
        ("MovieID,YearOfRelease,Title\n1,2003,One, two\n", {1: "One, two"}),
        ("item\ttitle\na\tOne, two\n", {"a": "One, two"}),
        ("title,item\nOne,7\n", {7: "One"}),
        ('7 :: One :: Drama\n8::"Two" and three::\n', {7: "One", 8: '"Two" and three'}),
        ("item_id:token\tmovie_title:token_seq\n7\tOne, two\n", {7: "One, two"}),
        ("7,One, two\n\n8,Three\n", {7: "One, two", 8: "Three"}),
        ("item,title\n7,caf\u00e9 \u2013 \u20ac5\n", {7: "caf\u00e9 \u2013 \u20ac5"}),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_titles(tmp_path, text, titles, encoding):
    (tmp_path / "t").write_bytes(text.encode(encoding))
    assert read_titles(tmp_path / "t") == titles


def test_a_line_without_title_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("item,title\n1,One\n2\n")
    with pytest.raises(DataError, match="t.csv, line 3 has an item without a title"):
        read_titles(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("")
    with pytest.raises(DataError, match="empty"):
        read_titles(tmp_path / "t.csv")


@pytest.mark.parametrize("text", ["item,title\n", "title\titem"])
def test_a_header_alone_is_no_titles(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DataError, match="holds a header and nothing else"):
        read_titles(tmp_path / "t.csv")


def test_digits_of_other_scripts_are_text(tmp_path):
    """Arabic one is not 1: both keep their titles."""
    path = tmp_path / "movies.csv"
    path.write_text("movieId,title\n1,Heat\n\u0661,Sabrina\n", encoding="utf-8")
    assert read_titles(path) == {"1": "Heat", "\u0661": "Sabrina"}
