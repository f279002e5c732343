"""Every format on small files: results equal a plain loop over the lines."""

import gzip
import lzma
import zipfile

import numpy as np
import pandas
import pytest
import scipy.sparse

from gpukit.errors import DataError, ParameterError
from gpukit.io import tables
from gpukit.ratings import chunk_reader, read_pairs, read_ratings
from ratings import naive

ROWS = [("3", "10", 4.0), ("1", "10", 3.5), ("3", "7", 0.0), ("20", "9000000000", 5.0)]


def triples(ratings):
    """Return [(user id, item id, rating)] as text and floats, in the order of the Ratings."""
    users, items = ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]
    return list(zip(map(str, users), map(str, items), ratings.values.tolist(), strict=True))


def table(rows=ROWS, sep=",", order=(0, 1, 2), header=None, end="\n", extra=""):
    """Return the text of a table with its columns in an order."""
    lines = [header] if header else []
    lines += [sep.join([f"{row[at]:g}" if at == 2 else row[at] for at in order]) + extra for row in rows]
    return end.join(lines) + end


@pytest.fixture
def write(tmp_path):
    def write(text, name="ratings.txt"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.mark.parametrize("sep", [",", "\t", ";", "|", " ", "::"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("extra", ["", "978300760"])
def test_separators(write, sep, end, extra):
    path = write(table(sep=sep, end=end, extra=sep + extra if extra else ""))
    assert triples(read_ratings(path)) == ROWS
    assert triples(read_ratings(write(path.read_bytes().rstrip()))) == ROWS  # no newline at the end


@pytest.mark.parametrize("sep", ";|\t ")
@pytest.mark.parametrize("header", [None, "user{0}item{0}rating"])
def test_decimal_commas(write, sep, header):
    rows = [
        ("u1", "i1", "3,5"),
        ("u2", "i1", "4"),
        ("u2", "i,2", "-0,25"),
        ("u3", "1,5", "1,234"),
        ("u3", "i1", "1,5e1"),
    ]
    path = write("\n".join(map(sep.join, [*([header.format(sep).split(sep)] if header else []), *rows])) + "\n")
    expected = [(user, item, float(np.float32(rating.replace(",", ".")))) for user, item, rating in rows]
    assert triples(read_ratings(path)) == expected  # ids keep their commas
    quoted = write("".join(f'{user},"{item}","{rating}"\n' for user, item, rating in rows))
    assert triples(read_ratings(quoted)) == expected


def test_decimal_commas_of_long_files(write, monkeypatch):
    """In every block of some thousand lines, also for counts and weights, and far behind the first lines."""
    monkeypatch.setattr("gpukit.ratings.chunk_reader.BLOCK", 1 << 14)
    rows = [(user, item, (user * item) % 7 / 2) for user in range(100) for item in range(100)]
    text = "".join(f"{user}\t{item}\t{value:g}\t0,5\n".replace(".", ",") for user, item, value in rows)
    read = read_ratings(write(text), columns="user,item,rating,weight")
    assert read.values.tolist() == [value for _, _, value in rows] and (read.weights == 0.5).all()
    with pytest.raises(DataError, match="line 10,001: the rating '2.5' is written with a point, and others"):
        read_ratings(write(text + "1\t900\t2.5\t1\n"), columns="user,item,rating,-")


@pytest.mark.parametrize(
    "header, order",
    [
        ("userId,movieId,rating,timestamp", (0, 1, 2)),
        ("MovieID,UserID,Rating,Date", (1, 0, 2)),
        ("stars,Customer_ID,product,x", (2, 0, 1)),
        ('"score","item","user","when"', (2, 1, 0)),
        ("\ufeffuser,item,rating,t", (0, 1, 2)),
        ("user_id,parent_asin,rating,timestamp", (0, 1, 2)),
        ("recipe_id,memberId,stars,date", (1, 0, 2)),
        ("item_id:token,user_id:token,rating:float,timestamp:float", (1, 0, 2)),
    ],
)
def test_headers_in_any_order(write, header, order):
    assert triples(read_ratings(write(table(header=header, order=order, extra=",1")))) == ROWS


def test_columns_by_request(write):
    path = write(table(order=(2, 1, 0), extra=",x"))
    assert triples(read_ratings(path, columns="rating,item,user,-")) == ROWS
    assert (
        triples(
            read_ratings(
                write(table(header="a,b,c,d", order=(2, 1, 0), extra=",x")), columns=["score", "movie", "customer", "?"]
            )
        )
        == ROWS
    )
    with pytest.raises(ParameterError, match="user,item,-,rating"):
        read_ratings(path, columns="user,rating")
    with pytest.raises(DataError, match="4 column"):
        read_ratings(path, columns="-,-,-,-,user,item,rating")


@pytest.mark.parametrize("sep", [";", "|", "\t"])
@pytest.mark.parametrize("time", ["", "978300760"])
def test_commas_in_every_id_are_no_separators(write, sep, time):
    rows = [("Doe, John", "Matrix, The", "4"), ("Roe, Jane", "Alien; 1979" if sep == "|" else "Birds, The", "3")]
    text = "".join(sep.join((*row, time) if time else row) + "\n" for row in rows)
    ratings = read_ratings(write(text))
    assert ratings.user_ids.tolist() == ["Doe, John", "Roe, Jane"] and ratings.counts is None
    assert sorted(ratings.item_ids.tolist()) == sorted(row[1] for row in rows) and ratings.values.tolist() == [4, 3]


def test_pairs_whose_item_has_semicolons_are_pairs(write):
    for text in ("7,a;b\n8,c;d\n", "7,a;b;c\n8,c;d;e\n", "7,a;b;4;5;6\n8,c;d;5;6;7\n"):
        assert read_ratings(write(text)).item_ids.tolist() == [line[2:] for line in text.splitlines()]


def test_other_separator_by_request(write):
    assert triples(read_ratings(write(table(sep="^")), sep="^")) == ROWS
    assert triples(read_ratings(write(table(sep="\t")), sep="\\t")) == ROWS
    with pytest.raises(ParameterError, match="sep must be"):
        read_ratings(write(table()), sep=",,")


def test_spaces_quotes_and_blank_lines(write):
    text = ' "3" , "10" , "4"\n\n1,10,3.5  \n   \n3,7, 0\r\n"20",9000000000,+5.0'
    assert triples(read_ratings(write(text))) == ROWS


def test_blanks_in_any_number(write):
    assert triples(read_ratings(write("  3   10\t4 \n1 10 3.5\n3  7  0\t\n20\t9000000000 5"), sep=" ")) == ROWS


def test_text_ids(write):
    rows = [("anna", "a,b", 3.0), ("zoë", 'say "x"', 1.0), ("anna", "007", 2.0), ("7", "7", 5.0)]
    text = 'user,item,rating\nanna,"a,b",3\nzoë,"say ""x""",1\nanna,007,2\n7,7,5\n'
    ratings = read_ratings(write(text))
    assert triples(ratings) == rows
    assert ratings.user_ids.tolist() == sorted({"anna", "zoë", "7"}) and ratings.item_ids.dtype.kind == "U"
    latin = read_ratings(write("user,item,rating\nzoë,1,3\n".encode("latin-1")))
    assert latin.user_ids.tolist() == ["zoë"] and latin.item_ids.tolist() == [1]


@pytest.mark.parametrize("ids", [[5, 1, 5], [-3, 0, 2**62], [2**63 - 1, 1 - 2**63, 0], [10**6, 10**12, 3]])
def test_integer_ids_are_kept(write, ids):
    ratings = read_ratings(write("".join(f"{value},{at},3\n" for at, value in enumerate(ids))))
    assert ratings.user_ids.dtype == np.int64 and ratings.user_ids.tolist() == sorted(set(ids))
    assert ratings.user_ids[ratings.users].tolist() == ids


@pytest.mark.parametrize("block", [20, 1 << 20])
def test_ids_that_turn_out_to_be_text(write, monkeypatch, block):
    monkeypatch.setattr("gpukit.ratings.chunk_reader.BLOCK", block)
    rows = [
        ("12", "7", 1.0),
        ("-3", "8", 2.0),
        ("12", "9", 3.0),
        ("anna", "7", 4.0),
        ("-3", "x", 5.0),
        ("12", "8", 1.0),
    ]
    ratings = read_ratings(write("".join(f"{user},{item},{rating:g}\n" for user, item, rating in rows)))
    assert triples(ratings) == rows
    assert ratings.user_ids.tolist() == ["-3", "12", "anna"] and ratings.item_ids.tolist() == ["7", "8", "9", "x"]


def test_integers_beyond_int64_are_text(write):
    assert read_ratings(write(f"{2**63},1,3\n5,1,2\n")).user_ids.tolist() == sorted([str(2**63), "5"])


NETFLIX = "8:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n30878:\n9:\n1488844,1,2004-01-01\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_netflix(write, end):
    path = write(NETFLIX.replace("\n", end), "combined_data_1.txt")
    assert triples(read_ratings(path)) == naive.netflix(NETFLIX)


def test_netflix_folder(tmp_path):
    for name, text in (
        ("mv_0000001.txt", "1:\n5,3,2005-01-01\n"),
        ("mv_0000002.txt", "2:\n5,4,2005-01-01\n7,1,2005-01-01\n"),
        ("movie_titles.txt", "1,2003,Dinosaur\n"),
    ):
        (tmp_path / name).write_text(text)
    assert triples(read_ratings(tmp_path)) == [("5", "1", 3.0), ("5", "2", 4.0), ("7", "2", 1.0)]
    (tmp_path / "combined_data_1.txt").write_text(NETFLIX)  # the same ratings in another form: one of them is read
    assert triples(read_ratings(tmp_path)) == naive.netflix(NETFLIX)


def test_netflix_beside_items_that_are_text(tmp_path):
    """Movies are above their ratings: the lines do not contain their names."""
    (tmp_path / "combined_data_1.txt").write_text("3,soap,4\n5,12,2\n")
    (tmp_path / "combined_data_2.txt").write_text("12:\n4,3,2005-05-11\n3,1,2005-05-11\n7:\n4,5,2005-05-11\n")
    found = read_ratings(tmp_path)
    triples = zip(found.user_ids[found.users].tolist(), found.item_ids[found.items].tolist(), found.values.tolist())
    assert sorted(triples) == [(3, "12", 1.0), (3, "soap", 4.0), (4, "12", 3.0), (4, "7", 5.0), (5, "12", 2.0)]


def test_netflix_names_a_wrong_line_as_it_is_in_the_file(write):
    path = write("7:\n1,3,2005-01-01\n\n9:\n2,3\n")
    with pytest.raises(DataError, match=r"line 5 has 2 column\(s\) where 3 are expected: '2,3'"):
        read_ratings(path)
    with pytest.raises(DataError, match=r"line 2 has no user id: ',3,2005-01-01'"):
        read_ratings(write("7:\n,3,2005-01-01\n"))


def test_netflix_needs_its_movie_line(write):
    with pytest.raises(DataError, match="before its first"):
        read_ratings(write("5,3,2005-01-01\n1:\n6,3,2005-01-01\n"), format="netflix")


def test_matrix_market(write):
    text = "%%MatrixMarket matrix coordinate integer general\n% made by hand\n5 4 3\n1 1 3\n2 4 5\n1 2 1\n"
    ratings = read_ratings(write(text))
    assert triples(ratings) == [("1", "1", 3.0), ("2", "4", 5.0), ("1", "2", 1.0)] and ratings.shape == (5, 4)
    for wrong, message in (("5 4 9\n", "declares 9"), ("1 4 3\n", "user 2")):
        with pytest.raises(DataError, match=message):
            read_ratings(write(text.replace("5 4 3\n", wrong)))


def test_scipy_npz(tmp_path):
    matrix = scipy.sparse.coo_matrix(([3.0, 0.0, 5.0], ([0, 1, 1], [2, 0, 3])), shape=(4, 5))
    for form in ("coo", "csr", "csc"):
        scipy.sparse.save_npz(tmp_path / "m.npz", matrix.asformat(form))
        ratings = read_ratings(tmp_path / "m.npz")
        assert ratings.shape == (4, 5) and sorted(triples(ratings)) == [
            ("0", "2", 3.0),
            ("1", "0", 0.0),
            ("1", "3", 5.0),
        ]


@pytest.mark.parametrize("pack", ["gz", "xz", "zip"])
def test_compressed(tmp_path, pack):
    raw, path = table().encode(), tmp_path / f"ratings.csv.{pack}"
    if pack == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("ml/README", "read me")
            archive.writestr("ml/ratings.csv", raw)
    else:
        path.write_bytes({"gz": gzip, "xz": lzma}[pack].compress(raw))
    assert triples(read_ratings(path)) == ROWS
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(DataError, match="damaged"):
        read_ratings(path)


def test_format_by_name(write):
    assert triples(read_ratings(write(table(sep="\t")), format="ml-100k")) == ROWS
    with pytest.raises(ParameterError, match="format must be"):
        read_ratings(write(table()), format="excel")


def test_pairs(write):
    users, items = read_pairs(write("item,user\n7,3\n8,3\n7,3\n"))
    assert users.tolist() == [3, 3, 3] and items.tolist() == [7, 8, 7]
    users, items = read_pairs(write("a,1\nb,2\n"))
    assert users.tolist() == ["a", "b"] and items.tolist() == [1, 2]
    users, items = read_pairs(write("1:\n30878\n2647871\n10:\n5\n"))  # Netflix's probe
    assert users.tolist() == [30878, 2647871, 5] and items.tolist() == [1, 1, 10]
    assert read_pairs(write(table()))[1].tolist() == [10, 10, 7, 9000000000]


@pytest.mark.parametrize("packed", [False, True])
def test_first_lines_that_are_longer_than_what_a_format_is_told_by(tmp_path, packed):
    wide = ",".join(f"column{k}" for k in range(9000))  # 90,000 bytes
    names = f"user,item,rating,{wide}\n" + "".join(f"{n},{n % 3},{1 + n % 5}{',' * 9000}\n" for n in range(7))
    texts = {
        "header": names,
        "id": f"{'x' * 100_000},1,3\n" + "".join(f"u{n},{n % 3},{1 + n % 5}\n" for n in range(6)),
        "comments": "%%MatrixMarket matrix coordinate real general\n"
        + "% made by hand\n" * 9000
        + "7 3 7\n"
        + "".join(f"{n + 1} {n % 3 + 1} 4\n" for n in range(7)),
    }
    for name, text in texts.items():
        path = tmp_path / f"{name}{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
        assert len(read_ratings(path)) == 7, name


@pytest.mark.parametrize("sep", [";", ",", "\t"])
@pytest.mark.parametrize("header", [None, "user{}item{}rating"])
def test_a_separator_that_excel_declares(write, sep, header):
    text = table(sep=sep, header=header and header.format(sep, sep), end="\r\n")
    assert triples(read_ratings(write(f"sep={sep}\r\n{text}"))) == ROWS
    with pytest.raises(DataError, match="names a separator and holds nothing else"):
        read_ratings(write(f"sep={sep}\n"))


REPEATED = {
    "header.csv": "user,item,rating,timestamp\n1,7,5,300\n2,7,1,50\n1,7,2,100\n1,7,3,200\n",
    "dates.csv": "user,item,rating,date\n1,7,5,2005-03-01\n2,7,1,2005-01-01\n1,7,2,2005-01-01\n1,7,3,2005-02-01\n",
    "ratings.dat": "1::7::5::300\n2::7::1::50\n1::7::2::100\n1::7::3::200\n",
    "combined_data_1.txt": "7:\n1,5,2005-03-01\n2,1,2005-01-01\n1,2,2005-01-01\n1,3,2005-02-01\n",
}


@pytest.mark.parametrize("name", REPEATED)
@pytest.mark.parametrize("times", [False, True])
def test_the_later_rating_of_a_repeated_pair_wins(tmp_path, name, times):
    """For any order of lines; the times are kept only on request."""
    (tmp_path / name).write_text(REPEATED[name])
    ratings = read_ratings(tmp_path / name, times=times)
    users = ratings.user_ids[ratings.users].tolist()
    assert dict(zip(users, ratings.values.tolist(), strict=True)) == {1: 5, 2: 1}
    assert (ratings.times is not None) == times


@pytest.mark.parametrize("text", ["1,7,5,300\n1,7,2,300\n", "1,7,5\n1,7,2\n", "1,7,5,x y\n1,7,2,z\n"])
def test_the_last_line_wins_without_different_times(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    assert read_ratings(tmp_path / "a.csv").values.tolist() == [2]


def test_parquet_and_npz_with_times_of_repeated_pairs(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"user": [1, 1, 2], "item": [7, 7, 7], "rating": [5.0, 2.0, 3.0], "timestamp": [9, 4, 6]})
    frame.to_parquet(tmp_path / "a.parquet")
    ones = np.array([1, 7])
    np.savez(tmp_path / "a.npz", row=[0, 0, 1], col=[0, 0, 0], data=[5.0, 2.0, 3.0], shape=[2, 1], format=b"coo",
             user_ids=np.array([1, 2]), item_ids=ones[1:], times=np.array([9, 4, 6]))  # fmt: skip
    for name in ("a.parquet", "a.npz"):
        assert read_ratings(tmp_path / name).values.tolist() == [5, 3]


@pytest.mark.parametrize("late, early", [("900", "100.5"), ("900.5", "100"), ("2020-01-01T00:00:00.5", "1500000000")])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_times_with_and_without_fractions_in_blocks_of_their_own(tmp_path, monkeypatch, late, early, form):
    """The later rating of a repeated pair wins, though other blocks have other spellings."""
    monkeypatch.setattr(chunk_reader, "BLOCK", 64)
    monkeypatch.setattr(tables, "BATCH", 30)
    times = [late, *map(str, range(10, 40)), early, *(f"{k}.5" for k in range(40, 70))]
    frame = pandas.DataFrame(
        {"user": [1, *range(2, 32), 1, *range(32, 62)], "item": 7, "rating": 3, "timestamp": times}
    )
    frame.loc[0, "rating"] = 5
    if form == "csv":
        frame.to_csv(tmp_path / "r.csv", index=False)
    else:
        is_number = "-" not in late
        frame.astype({"timestamp": float} if is_number else {}).to_parquet(tmp_path / "r.parquet", index=False)
    assert ("1", "7", 5.0) in triples(read_ratings(tmp_path / f"r.{form}"))


def test_a_quoted_line_end_in_the_header_counts_as_a_line(write):
    text = 'user,item,"rating\nof it"\n1,2,3\n1,3,x\n'
    with pytest.raises(DataError, match="line 4: the rating 'x' is not a number"):
        read_ratings(write(text), columns="user,item,rating")
    with pytest.raises(DataError, match=r"line 1: 'user,item,\"rating\\nof it\"': which columns"):
        read_ratings(write(text))


@pytest.mark.parametrize("end", ["\n", "\n\n"])
def test_a_header_of_unknown_names_is_no_pair_above_a_blank_line_either(write, end):
    with pytest.raises(DataError, match="line 1: 'x,y,z': which columns are user, item and rating is not clear"):
        read_pairs(write(f"x,y,z{end}1,2,3\n1,3,4\n"))
