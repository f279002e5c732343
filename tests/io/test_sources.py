"""Sources: missing files, archives that cannot be unpacked, encodings, large and small blocks."""

import gzip
import io
import os
import threading
import zipfile

import numpy as np
import pytest

from gpukit import documents, ratings, read_letor, read_ratings
from gpukit.cli.factorization.listing import read_lists
from gpukit.errors import DataError
from gpukit.factorization.lists.files import lines_of
from gpukit.io import sources
from gpukit.io.records import find_byte

TEXT = b"1,2,3\n4,5,6\n"


def zipped(*members, method=zipfile.ZIP_DEFLATED, text=TEXT):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as packed:
        for name in members:
            packed.writestr(name, text)
    return out.getvalue()


def patched(raw, local, central, value):
    """Return a zip of one member with a byte changed in both of its headers."""
    raw = bytearray(raw)
    for sign, place in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
        raw[raw.index(sign) + place] = value
    return bytes(raw)


def nameless(raw, name):
    """Return a zip of one member without a name."""
    raw = bytearray(raw)
    for sign, place, size in ((b"PK\x03\x04", 26, 30), (b"PK\x01\x02", 28, 46)):
        start = raw.index(sign)
        raw[start + place] = 0
        del raw[start + size : start + size + len(name)]
    end = raw.index(b"PK\x05\x06")  # the directory is now earlier
    raw[end + 16 : end + 20] = (int.from_bytes(raw[end + 16 : end + 20], "little") - len(name)).to_bytes(4, "little")
    raw[end + 12 : end + 16] = (int.from_bytes(raw[end + 12 : end + 16], "little") - len(name)).to_bytes(4, "little")
    return bytes(raw)


def text_of(path):
    with sources.open_source(path) as source:
        return source.stream().whole()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_zips_that_can_be_unpacked(tmp_path, method):
    for raw in (zipped("a.csv", method=method), zipped("folder/", "folder/a.csv", method=method)):
        (tmp_path / "a.zip").write_bytes(raw)
        assert text_of(tmp_path / "a.zip") == TEXT
    (tmp_path / "a.zip").write_bytes(zipped("f/a.csv", "f/.DS_Store", "__MACOSX/f/._a.csv", method=method))
    assert text_of(tmp_path / "a.zip") == TEXT  # as macOS compresses one file
    (tmp_path / "a.zip").write_bytes(nameless(zipped("a.csv", method=method), "a.csv"))
    assert text_of(tmp_path / "a.zip") == TEXT


@pytest.mark.parametrize(
    "raw, message",
    [
        (patched(zipped("a.csv"), 6, 8, 1), "a.csv.* cannot be unpacked .* is encrypted, password required"),
        (patched(zipped("a.csv"), 8, 10, 9), "cannot be unpacked .* not supported; method: deflate64"),
        (patched(zipped("a.csv"), 8, 10, 93), "cannot be unpacked .* not supported; method: 93"),
        (patched(zipped("a.csv"), 6, 8, 32), "cannot be unpacked"),
        (patched(zipped("\u00e9.csv"), 30, 46, 0x92), "cannot be unpacked|damaged"),
        (zipped("a.csv", "b.csv"), "holds a.csv, b.csv: which is meant is not clear"),
        (zipped("[Content_Types].xml", "xl/workbook.xml"), "is a spreadsheet.*Save it as csv"),
        (zipped(), "holds nothing"),
        (zipped("folder/"), "holds nothing"),
        (zipped("x" * 300, "y" * 300), "which is meant"),
        (zipped("a.csv")[:-10], "damaged"),
        (zipped("a.csv").replace(b"a.csv", b"b.csv", 1), "damaged"),
        (b"\x28\xb5\x2f\xfd....", "packed by zstd"),
        (b"7z\xbc\xaf\x27\x1c..", "packed by 7z"),
        (b"<!DOCTYPE html>\n<html><p>Sign in, please", "web page or XML .*Fetch it again"),
        (b"\xef\xbb\xbf\n <HTML lang='en'>", "web page or XML"),
        (b"<?xml version='1.0'?>", "web page or XML"),
        (b"", "is empty"),
    ],
)
def test_what_cannot_be_unpacked(tmp_path, raw, message):
    (tmp_path / "a.zip").write_bytes(raw)
    with pytest.raises(DataError, match=message) as caught:
        text_of(tmp_path / "a.zip")
    assert "a.zip" in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "name, message",
    [("none", "does not exist"), (".", "is a folder"), ("x" * 300, "name too long"), ("a\0b", "cannot be read")],
)
def test_what_is_no_file(tmp_path, name, message):
    with pytest.raises(DataError, match=message), sources.open_source(f"{tmp_path}/{name}"):
        pass


@pytest.mark.parametrize(
    "raw, message",
    [
        ("1,2,3\n".encode("utf-16"), "UTF-16, .* iconv -f UTF-16 -t UTF-8"),
        ("1,2,3\n".encode("utf-16-le"), "UTF-8"),
        ("1,2,3\n".encode("utf-32"), "not a text file in UTF-8"),
        (b"1,2,3\r4,5,6\r", "carriage return"),
        (b"1,2\0,3\n", "UTF-8"),
    ],
)
def test_what_is_no_text(tmp_path, raw, message):
    for packed in (raw, gzip.compress(raw)):
        (tmp_path / "a").write_bytes(packed)
        with sources.open_source(tmp_path / "a") as source, pytest.raises(DataError, match=message):
            source.stream().text_head()


@pytest.mark.parametrize("block", [7, 100, 1000, 1 << 20])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_blocks_are_whole_lines(tmp_path, monkeypatch, block, end):
    monkeypatch.setattr(sources, "BLOCK", block)
    monkeypatch.setattr(sources, "CHUNK", 50)
    random = np.random.default_rng(2)
    raw = b"\n".join(b"x" * length for length in random.integers(0, 90, 200)) + b"y" + end
    (tmp_path / "a").write_bytes(raw)
    with sources.open_source(tmp_path / "a") as source:
        stream = source.stream()
        assert stream.head(40) in raw  # the inspected bytes are read again
        got = [each.tobytes() for each in stream.blocks(skip=3)]
        assert stream.unended is (not end)
    assert all(one.endswith(b"\n") for one in got) and b"".join(got) == (raw if end else raw + b"\n")[3:]


def test_a_byte_of_0_is_found_in_any_block(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "BLOCK", 64)
    for place in (0, 63, 64, 65, 200, 299):
        raw = bytearray(b"1,2,3\n" * 50)
        raw[place] = 0
        (tmp_path / "a").write_bytes(raw)
        with sources.open_source(tmp_path / "a") as source, pytest.raises(DataError, match=f"at byte {place + 1},"):
            list(source.stream().blocks())


def test_a_line_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "BLOCK", 64)
    monkeypatch.setattr(sources, "LONGEST_LINE", 1 << 12)
    (tmp_path / "a").write_bytes(b"1" * 20_000)
    with (
        sources.open_source(tmp_path / "a") as source,
        pytest.raises(DataError, match="a, the line at byte 1, is longer than"),
    ):
        list(source.stream().blocks())


@pytest.mark.parametrize("kind", ["plain", "gz", "zip", "pipe"])
@pytest.mark.parametrize("skip", [0, 2])
def test_a_long_line_deep_in_a_text_is_named(tmp_path, monkeypatch, kind, skip):
    monkeypatch.setattr(sources, "BLOCK", 64)
    monkeypatch.setattr(sources, "LONGEST_LINE", 1 << 12)
    raw = b"1,2,3\n\n" * 300 + b"1" * 20_000 + b"\n1,2,3\n"
    path = tmp_path / "a"
    if kind == "pipe":
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=(raw,), daemon=True).start()
    else:
        path.write_bytes({"gz": gzip.compress, "zip": lambda text: zipped("a.csv", text=text)}.get(kind, bytes)(raw))
    with sources.open_source(path) as source, pytest.raises(DataError, match="the line at byte 2,101, is longer than"):
        stream = source.stream()
        stream.head()
        list(stream.blocks(skip))


@pytest.mark.parametrize("line", [1, 2, 3, 4])
def test_a_line_longer_than_a_block_is_read_wherever_it_is(tmp_path, monkeypatch, line):
    monkeypatch.setattr(sources, "BLOCK", 1 << 18)
    lines = ["user,item,rating", "u1,a,3", "u2,b,4", "u3,c,5", "u4,d,1"]
    user = "u" * (1 << 19)
    lines[line] = f"{user},{lines[line].partition(',')[2]}"
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    table = ratings.read_ratings(tmp_path / "a.csv")
    assert len(table) == 4 and user in table.user_ids.tolist()


@pytest.mark.parametrize(
    "start",
    [
        "\n" * 300_000 + "user,item,rating\n",
        "sep=,\nuser,item,rating\n" + " \n" * 150_000,
        '"user' + "\n" * 300_000 + '",item,rating\n',
        "%%MatrixMarket matrix coordinate real general\n" + "% nothing\n" * 30_000 + "2 2 2\n",
    ],
    ids=["blanks", "separator", "quoted", "comments"],
)
def test_ratings_behind_a_long_beginning_are_read(tmp_path, monkeypatch, start):
    monkeypatch.setattr(sources, "BLOCK", 1 << 18)
    rows = "1 1 3\n2 2 4\n"
    columns = "1,2,3" if start.startswith('"') else None
    (tmp_path / "a.csv").write_text(start + (rows if start.startswith("%") else rows.replace(" ", ",")))
    read = ratings.read_ratings(tmp_path / "a.csv", columns=columns and "user,item,rating")
    assert len(read) == 2 and read.values.tolist() == [3, 4]


def test_movies_without_ratings_do_not_hide_those_below(tmp_path):
    movies = "".join(f"{movie}:\n" for movie in range(1, 20_000))
    (tmp_path / "movies.txt").write_text(f"{movies}7,3,2005-09-06\n8,4,2005-09-06\n")
    assert len(ratings.read_ratings(tmp_path / "movies.txt")) == 2


@pytest.mark.parametrize("lines", [0, 1, 2])
def test_a_line_beyond_the_limit_is_named(tmp_path, monkeypatch, lines):
    monkeypatch.setattr(sources, "LONGEST_LINE", 1 << 20)
    start = "user,item,rating\n" + "1,2,3\n"
    start = "".join(start.splitlines(keepends=True)[:lines])
    (tmp_path / "a.csv").write_text(start + "9" * (1 << 21) + ",2,3\n")
    with pytest.raises(DataError, match=rf"a.csv, line {lines + 1}, does not end within the first 1 MiB, the limit"):
        ratings.read_ratings(tmp_path / "a.csv")


def test_a_spooled_pipe_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    end, other = os.pipe()
    os.write(other, TEXT)
    os.close(other)
    with sources.open_source(f"/dev/fd/{end}") as source:
        assert source.seekable().read() == TEXT and source.size == len(TEXT) and not list(tmp_path.iterdir())
    os.close(end)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    end, other = os.pipe()
    os.write(other, TEXT)
    os.close(other)
    with sources.open_source(f"/dev/fd/{end}") as source, pytest.raises(DataError, match="Set TMPDIR"):
        source.seekable()
    os.close(end)


MODEL, RATINGS, DOCUMENTS, BASIS = (
    "a model or checkpoint",
    "a binary copy of ratings",
    "a binary copy of docu",
    "a basis",
)


@pytest.mark.parametrize(
    "read, others",
    [
        (ratings.read_ratings, {"M": MODEL, "L": DOCUMENTS, "B": BASIS}),
        (ratings.read_pairs, {"M": MODEL, "L": DOCUMENTS, "B": BASIS}),
        (documents.read_letor, {"M": MODEL, "R": RATINGS, "B": BASIS}),
        (ratings.read_titles, {"M": MODEL, "R": RATINGS, "L": DOCUMENTS, "B": BASIS}),
    ],
)
def test_readers_name_the_files_of_gpukit(tmp_path, read, others):
    for letter, what in others.items():
        path = tmp_path / "some.file"
        path.write_bytes(f"GPUKIT{letter}1".encode() + bytes(range(1, 9)) + b"\0" * 200)
        with pytest.raises(DataError, match=f"some.file is {what}.* written by gpukit, which is not read here"):
            read(path)


MATRIX = "%%MatrixMarket matrix coordinate real general"
MARKED = {
    "letor": ("1 qid:1 1:2\n0 qid:1 1:3\n", lambda path: read_letor(path).y.tolist(), [1, 0]),
    "documents": ("label,qid,f\n1,1,2\n0,1,3\n", lambda path: read_letor(path).y.tolist(), [1, 0]),
    "netflix": ("1:\n2,3,2005-01-01\n", lambda path: read_ratings(path).item_ids.tolist(), [1]),
    "matrix": (
        "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 3\n",
        lambda path: len(read_ratings(path)),
        1,
    ),
    "titles": ("1,A film\n", lambda path: lines_of(path, "titles"), [(1, ["1", "A film"])]),
    "lists": ("7,4.5\n", lambda path: read_lists(path, "auto", None, "last", None).item_ids.tolist(), [7]),
}


@pytest.mark.parametrize("count", [0, 1, 2, 3])
@pytest.mark.parametrize("text, read, expected", MARKED.values(), ids=MARKED)
def test_any_number_of_byte_order_marks(tmp_path, text, read, expected, count):
    path = tmp_path / "marked.txt"
    path.write_text("\ufeff" * count + text)
    assert read(path) == expected


def test_files_with_byte_order_marks_are_joined(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "CHUNK", 64)  # a block begins with a mark, and others are within blocks
    path, parts = tmp_path / "joined.csv", [f"{user},{item},3\n" for user in range(5) for item in range(4)]
    path.write_text("\ufeffuser,item,rating\n\ufeff" + "\ufeff".join(parts))
    table = read_ratings(path)
    assert table.user_ids.tolist() == list(range(5)) and table.users.tolist() == [n // 4 for n in range(20)]
    path.write_text("item,title\n\ufeff1,A film\n\ufeff2,Another\n")
    assert ratings.read_titles(path) == {1: "A film", 2: "Another"}


@pytest.mark.parametrize("change", [lambda file: file.write("5,6,7\n"), lambda file: file.truncate(6)])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, change):
    path = tmp_path / "a.csv"
    path.write_bytes(TEXT)
    with pytest.raises(DataError, match="was written to while it was read"), sources.Source(path) as source:
        with open(path, "a") as file:
            change(file)
        list(source.stream().blocks())


def test_the_first_place_of_a_byte():
    letters = np.frombuffer(b"ab\0c\0", np.uint8)
    assert [find_byte(letters, byte) for byte in b"a\0d"] == [0, 2, None] and find_byte(letters[:0], 0) is None
