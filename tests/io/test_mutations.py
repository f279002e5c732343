"""Mutated text of every kind, from fixed seeds: a correct result or an error of one line, never another exception."""

import random
import re

import numpy as np
import pytest

from gpukit.documents import read_letor
from gpukit.errors import GpukitError
from gpukit.graphs.read import read_edges
from gpukit.graphs.table import read_table
from gpukit.ratings import read_pairs, read_ratings, read_titles

TOKENS = (
    '|-1|0|1e999|nan|-inf|0x10|1_000|１２|+5| 5|5 |"5"|"5|5"|"a\nb"|2147483648|9223372036854775808|1.5|007|-0|é'
    "|\ufeff|\0|\r|\n|\r\n|\t|,|:|::|;|#|%|qid:|qid: 1|NULL|NA|True|1:|:1|a:1|-1:1|2147483648:1|2005-13-45|\x85|\x0b"
    "|\u2028|²|1e-400|3.5e38|-9223372036854775809|0001-01-01T00:00:00+23:59|18446744073709551616"
).split("|") + ["9" * 5000, "0." + "1" * 5000, "x" * 3000, "|"]
SEPARATORS = [",", "\t", " ", ";", "|", "::", ":", "\n", "\r\n", "\r"]
RATINGS = [
    "1,2,3\n4,5,2.5\n1,5,4\n7,2,1\n",
    "user,item,rating,timestamp\n1,2,3,5\n4,5,2.5,6\n1,5,4,7\n",
    '"a","x",3\n"b ""q""","y z",2\n"a","y z",5\n',
    "1::2::3::978300760\n1::4::5::978300761\n",
    "1:\n5,3,2005-09-06\n6,4,2005-09-07\n2:\n5,1,2005-01-01\n",
    "%%MatrixMarket matrix\n% c\n3 4 3\n1 1 2.5\n2 4 1\n3 2 4\n",
]
OPTIONS = [{}, {"times": True}, {"columns": "item,user,rating"}, {"columns": "user,item,rating,count"}, {"sep": ","}]


def ratings(path, chance):
    found = read_ratings(path, **chance.choice(OPTIONS))
    assert len(found) and np.isfinite(found.values).all()
    for ids, rows in ((found.user_ids, found.users), (found.item_ids, found.items)):
        assert len(np.unique(ids)) == len(ids) and rows.min() >= 0 and rows.max() < len(ids)


def pairs(path, chance):
    users, items = read_pairs(path)
    assert len(users) == len(items) > 0


def titles(path, chance):
    assert all(item != "" and title for item, title in read_titles(path).items())


def letor(path, chance):
    found = read_letor(path, null=chance.choice(["zero", "min", "error"]))
    values = found.X if isinstance(found.X, np.ndarray) else found.X.data
    assert np.isfinite(values).all() and np.isfinite(found.y).all() and len(set(found.qids.tolist())) == len(found.qids)


def edges(path, chance):
    graph, ids = read_edges(path)
    assert np.isfinite(graph.data).all() and (ids is None or len(set(ids.tolist())) == len(ids) == graph.shape[0])


def values(path, chance):
    found = read_table(path, 4, chance.choice([None, np.arange(4)]), chance.choice([None, "rows", "columns"]))
    assert found.values.dtype == np.float64 and (found.ids is None or len(found.ids) == len(found.values))


PAIRS = ["1,2\n4,5\n1,5\n", "user,item\na,b\nc,d\n", "1:\n5\n6\n2:\n7\n"]
TITLES = ["1::A film::Drama\n2::B\n", 'movieId,title\n1,"Toy, Story"\n2,Heat\n', "1,2003,Dino, saur\n2,NULL,I\n"]
LETOR = ["2 qid:1 1:.5 2:3 #a\n1 qid:1 3:2\n0 qid:2 2:1\n1 qid:2 1:NULL 4:2\n", "1 qid:q1 1:1 2:2\n0 qid:q2 1:.5\n"]
EDGES = ["0 1\n1 2\n2 3\n0 3\n", "a,b,1.5\nb,c,2\na,c,1\n", ",a,b,c\na,0,1,0\nb,1,0,2\nc,0,2,0\n"]
VALUES = ["0,1.5\n1,2\n2,nan\n3,4\n", "v,t1,t2\na,1,2\nb,3,4\nc,5,6\nd,1,1\n", ",2005-01-01\n0,1\n1,3\n2,5\n3,1\n"]
KINDS = {
    ratings: (RATINGS, 400),
    pairs: (PAIRS, 300),
    titles: (TITLES, 300),
    letor: (LETOR, 400),
    edges: (EDGES, 200),
    values: (VALUES, 200),
}


def mutated(chance, text):
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        how, at = chance.randrange(8), chance.randrange(len(text) + 1)
        spans = [found.span() for found in re.finditer(r"[^,\t \n;|:]+", text)]
        if how < 3 and spans:
            start, stop = chance.choice(spans)
            text = text[:start] + chance.choice(TOKENS) + text[stop:]
        elif how == 3:
            text = text[:at] + chance.choice(TOKENS) + text[at:]
        elif how == 4:
            text = text[:at] + text[at + chance.choice([1, 2, 20]) :]
        elif how == 5:
            text = text.replace(chance.choice(SEPARATORS), chance.choice(SEPARATORS))
        elif how == 6:
            lines = text.split("\n")
            text = "\n".join([*lines[: at % len(lines)], chance.choice(lines), *lines[at % len(lines) :]])
        else:
            text = text[:at]
    return text.encode(chance.choice(["utf-8"] * 9 + ["utf-16"]) if chance.random() < 0.9 else "latin-1", "replace")


@pytest.mark.slow
@pytest.mark.parametrize("read", KINDS)
def test_a_right_answer_or_one_line(tmp_path, read):
    seeds, count = KINDS[read]
    answers, path = 0, tmp_path / "text"
    for case in range(count):
        chance = random.Random(f"{read.__name__} {case}")
        path.write_bytes(raw := mutated(chance, chance.choice(seeds)))
        try:
            read(path, chance)
            answers += 1
        except GpukitError as error:
            assert "\n" not in str(error) and len(str(error)) < 600, (case, raw, error)
        except Exception as error:
            raise AssertionError(f"case {case}: {raw[:300]!r}") from error
    assert count / 10 < answers < count  # the mutations change some texts but not all
