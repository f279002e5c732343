"""Items from files."""

import pytest

from gpukit.errors import DataError
from gpukit.factorization.lists.files import read_items


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
    ],
)
def test_items(tmp_path, text):
    assert read_items(written(tmp_path, text)) == ["1", "2", "30"]


@pytest.mark.parametrize(
    "text, message",
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"item\n", "names no item"),
        (b",a\n,b\n", "names no item"),
        (b"1,a\n,b\n", "line 2 has no item"),
        (b"title,item\na,1\nb\n", "line 3 has no item"),
        (b'1,a\n2,"b\n', "line 2 opens a quote"),
        (b"1,a\0b\n", "not a text file"),
    ],
)
def test_refused_items(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_items(written(tmp_path, text))
