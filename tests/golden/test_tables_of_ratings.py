"""Tables of ratings in every spelling: what `convert` reads of them, or the line with which it refuses."""

import pytest

from golden.command import Case

ROWS = "1,10,5\n1,11,3\n2,10,4\n2,12,1\n3,11,2\n"
HEADER = "user,item,rating\n"
TIMES = "user,item,rating,timestamp\n1,10,5,30\n1,10,3,20\n2,10,4,10\n"


def read(name, content, file="ratings.csv", options=""):
    """A case: the table is read and written as csv."""
    return Case(name, f"convert {file} out.csv {options}".strip(), {file: content}, outputs=("out.csv",))


def spelled(name, *ids):
    """A case: ids of users and of items in these spellings, each as its bytes stand in the file."""
    return read(
        f"ids: {name}",
        HEADER + "".join(f"{i},{j},{1 + (a + b) % 5}\n" for a, i in enumerate(ids) for b, j in enumerate(ids)),
    )


SPELLINGS = (
    spelled("leading zeros", "007", "7", "0", "00"),
    spelled("numbers like floats", "1e5", "100000", "1.0", "1"),
    spelled("words for nothing", "nan", "NA", "null", "None", "inf"),
    spelled("signs", "+1", "1", "-1"),
    spelled("underscores", "1_000", "1000"),
    spelled("blanks", " lead", "lead", "trail ", "two words"),
    spelled("quotes", '"q"', "'s'", '"a ""b"""', '"a,b"'),
    spelled("a quoted line feed", '"a\nb"', "ab"),
    spelled("beyond 2^63", "9223372036854775807", "9223372036854775808", "18446744073709551616"),
    spelled("Turkish letters", "I", "i", "\u0131", "\u0130"),
    spelled("composed and not", "\u00e9", "e\u0301"),
    spelled("other scripts", "\u0661", "1", "\u4e00", "\U0001f600"),
    spelled("dates", "2020-01-01", "2020-01-02"),
    spelled("true and false", "true", "True", "1"),
    spelled("a zero byte", "a\x00b", "ab"),
    spelled("control letters", "a\x1b[31m", "a\tb"),
    read("ids: empty user", HEADER + ",10,5\n1,10,4\n"),
    read("ids: empty quoted item", HEADER + '1,"",5\n1,10,4\n'),
)
FORMS = (
    read("plain", ROWS),
    read("a header", HEADER + ROWS),
    read("MovieLens' header", "userId,movieId,rating,timestamp\n1,10,4.5,964982703\n2,10,.5,964982704\n"),
    read("MovieLens' colons", "1::10::5::978300760\n2::11::3::978302109\n", "ratings.dat"),
    read("tabs", ROWS.replace(",", "\t"), "u.data"),
    read("semicolons", HEADER.replace(",", ";") + ROWS.replace(",", ";")),
    read("blanks between", ROWS.replace(",", " "), "ratings.txt"),
    read("decimal commas", "user;item;rating\n1;10;4,5\n2;10;3,0\n"),
    read("decimal commas and points", "user;item;rating\n1;10;4,5\n2;10;3.0\n"),
    read("carriage returns", (HEADER + ROWS).replace("\n", "\r\n")),
    read("old carriage returns", (HEADER + ROWS).replace("\n", "\r")),
    read("no last line feed", (HEADER + ROWS)[:-1]),
    read("a byte order mark", "\ufeff" + HEADER + ROWS),
    read("Latin-1", (HEADER + "caf\u00e9,10,5\nb,10,4\n").encode("latin-1")),
    read("UTF-16", (HEADER + ROWS).encode("utf-16")),
    read("UTF-16 without a mark", (HEADER + ROWS).encode("utf-16-le")),
    read("columns in another order", "rating,item,user\n5,10,1\n4,11,2\n"),
    read("columns named", "a,b,c,d\n1,x,10,5\n2,x,11,4\n", options="--columns user,-,item,rating"),
    read("columns unknown", "a,b,c,d\n1,x,10,5\n2,x,11,4\n"),
    read("Netflix' blocks", "1:\n10,5,2005-09-06\n11,3,2005-09-07\n2:\n10,4,2005-09-06\n", "combined.txt"),
    read("matrix market", "%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 5\n2 1 4\n3 2 1\n", "r.mtx"),
    read("later ratings win", TIMES),
    read("earlier times below", TIMES.replace("1,10,5,30\n1,10,3,20\n", "1,10,3,20\n1,10,5,30\n")),
    read("many digits", "1,10,3.1415927\n1,11,.1\n2,10,123456.79\n2,11,16777216\n3,10,1e-7\n3,11,1e20\n4,10,-0\n"),
    read("repeated pairs", ROWS + "1,10,1\n"),
    read("gzip", ROWS, "ratings.csv.gz"),
    read("bzip2", ROWS, "ratings.csv.bz2"),
    read("xz", ROWS, "ratings.csv.xz"),
    read("zstandard", ROWS, "ratings.csv.zst"),
    read("zip", ROWS, "ratings.csv.zip"),
    read("gzip that is none", ROWS.encode(), "ratings.dat.gzip"),
    read("a long id", HEADER + "u" * 3000 + ",10,5\n1,10,4\n"),
    read("comments", "# made by hand\n" + ROWS),
    read("clicks", "user,item\n1,10\n1,11\n2,10\n"),
    read("repeated clicks", "user,item\n1,10\n1,10\n1,11\n2,10\n"),
    read("repeated play counts", "user,item,plays\n1,10,300\n1,10,20\n2,10,17\n"),
    read("play counts", "user,item,plays\n1,10,300\n1,11,2\n2,10,17\n"),
)
FAULTS = (
    read("a word for a rating", "1,10,five\n1,11,3\n"),
    read("an empty rating", "1,10,\n1,11,3\n"),
    read("a rating that is not finite", "1,10,inf\n1,11,3\n"),
    read("a rating beyond float32", "1,10,1e39\n1,11,3\n"),
    read("a rating of 1e400", "1,10,1e400\n1,11,3\n"),
    read("a hexadecimal rating", "1,10,0x5\n1,11,3\n"),
    read("a row with a field less", ROWS + "4,10\n"),
    read("a row with a field more", ROWS + "4,10,3,9\n"),
    read("a blank line between", "1,10,5\n\n2,10,4\n"),
    read("blank lines at the end", ROWS + "\n\n"),
    read("empty fields at the end", ROWS + ",,\n,,\n"),
    read("an open quote", HEADER + '"1,10,5\n2,10,4\n'),
    read("text behind a quote", HEADER + '"1"x,10,5\n2,10,4\n'),
    read("an empty file", ""),
    read("a header and nothing else", HEADER),
    read("one field a line", "1\n2\n3\n"),
    read("bytes of no text", bytes(range(256))),
    read("HTML", "<html><body>404 Not Found</body></html>\n"),
    read("JSON lines", '{"user": 1, "item": 10, "rating": 5}\n'),
    Case("a file that is not there", "convert nothing.csv out.csv", outputs=("out.csv",)),
    Case("a folder", "convert . out.csv", outputs=("out.csv",)),
    Case("a pipe", "convert - out.csv", stdin=ROWS, outputs=("out.csv",)),
    Case("an empty pipe", "convert - out.csv", stdin="", outputs=("out.csv",)),
    Case(
        "an output that is there",
        "convert ratings.csv out.csv",
        {"ratings.csv": ROWS, "out.csv": "mine\n"},
        outputs=("out.csv",),
    ),
    Case(
        "there and back by .gkr",
        ("convert ratings.csv copy.gkr", "convert copy.gkr out.csv"),
        {"ratings.csv": HEADER + '007,"a,b",5\n1e5," lead",3\n007," lead",1\n'},
        outputs=("out.csv",),
    ),
    Case(
        "there and back by Parquet",
        ("convert ratings.csv copy.parquet", "convert copy.parquet out.csv"),
        {"ratings.csv": HEADER + '007,"a,b",5\n1e5," lead",3\n007," lead",1\n'},
        outputs=("copy.parquet", "out.csv"),
    ),
)
CASES = (*SPELLINGS, *FORMS, *FAULTS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_tables(check, case):
    check(case)
