"""Empty lines at the end of every delimited file are ignored and counted; elsewhere they are errors."""

import numpy as np
import pytest

from gpukit.documents import read_letor
from gpukit.errors import DataError
from gpukit.factorization.lists.files import read_categories, read_items
from gpukit.graphs.graph_builders import read_coordinates
from gpukit.graphs.table import read_graph_text
from gpukit.io import notes
from gpukit.ratings import read_pairs, read_ratings, read_titles

TABLE = "time,a,b\n2020-01-01,1,2\n2020-01-02,3,4\n2020-01-03,5,6\n"
KINDS = {  # name: (reader, text with commas)
    "ratings": (read_ratings, "user,item,rating\n1,2,3\n2,2,4\n"),
    "ratings without a header": (read_ratings, "1,2,3\n2,2,4\n"),
    "clicks": (read_ratings, "user,item\n1,2\n2,2\n"),
    "pairs": (read_pairs, "1,2\n2,2\n"),
    "titles": (read_titles, "item,title\n1,One\n2,Two\n"),
    "documents": (read_letor, "label,qid,f1,f2\n1,1,2,3\n0,1,5,6\n"),
    "edges": (read_graph_text, "source,target,weight\na,b,1\nb,c,2\n"),
    "coordinates": (read_coordinates, "sensor,x,y\na,1,2\nb,2,3\n"),
    "items": (read_items, "item,name\n1,a\n2,b\n"),
    "categories": (read_categories, "item,category\n1,a\n2,b\n"),
}
ENDS = {
    "empty": "\n",
    "commas": ",,\n",
    "more commas": ",,,,\n,,\n\n",
    "blanks": " , ,\n",
    "quotes": '"",""\n',
    "open": ",,",
}


@pytest.fixture
def counted():
    """Return the numbers of empty lines in the readers' notes."""
    found = []
    notes.listener, before = lambda file, text, facts: found.append(facts.get("empty_lines", 0)), notes.listener
    yield found
    notes.listener = before


def as_text(found):
    """Return a reader's result as text, for comparison."""
    return str(
        [np.asarray(part).tolist() if not hasattr(part, "toarray") else part.toarray() for part in found]
        if isinstance(found, tuple)
        else vars(found)
        if hasattr(found, "__dataclass_fields__")
        else found
    )


@pytest.mark.parametrize("sep", [",", ";", "\t"])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", KINDS)
def test_left_out_at_the_end_and_counted(tmp_path, counted, kind, end, sep):
    read, text = KINDS[kind]
    plain, padded = (tmp_path / name for name in ("plain.csv", "padded.csv"))
    plain.write_text(text.replace(",", sep))
    padded.write_text((text + ENDS[end]).replace(",", sep))
    wanted = as_text(read(plain)).replace("plain", "padded")
    assert sum(counted) == 0
    assert as_text(read(padded)) == wanted
    assert sum(counted) == ENDS[end].count("\n") + (not ENDS[end].endswith("\n"))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_refused_in_the_middle_with_the_line(tmp_path, kind):
    read, text = KINDS[kind]
    first, rest = text.split("\n", 1)
    middle = first.count(",") * ","
    lines = [first, *rest.splitlines()[:1], middle, *rest.splitlines()[1:]] if rest.count("\n") > 1 else None
    lines = lines or [first, middle, *rest.splitlines()]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=f"(line|row) {lines.index(middle) + 1}"):
        read(path)


def test_svmlight(tmp_path, counted):
    path = tmp_path / "a.txt"
    path.write_text("1 qid:1 1:2\n0 qid:1 1:3\n\n  \n")
    assert len(read_letor(path).y) == 2 and sum(counted) == 2


@pytest.mark.parametrize("end", [",,\n", ",\n", "\n\n", '"","",""\n'])
def test_a_table_of_sensors(tmp_path, counted, end):
    from gpukit.io.sheet import open_table

    path = tmp_path / "a.csv"
    path.write_text(TABLE + end)
    assert len(open_table(path).frame(True)) == 3 and sum(counted) == end.count("\n")
