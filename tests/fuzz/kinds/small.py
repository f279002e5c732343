"""Pairs to predict, titles of items, and ids in requests."""

import json

import numpy as np

from fuzz.judges import models as judges
from fuzz.judges import tables
from fuzz.kinds import models, ratings
from fuzz.mutate.text import TEXT
from fuzz.registry import Kind, single

NETFLIX_TITLES = b"1,2003,Dinosaur Planet\n2,2004,Isle of Man, The\n3,NULL,Character\n4,1994,Paula\n"
TITLES = {
    "movies.dat": "1::Toy Story (1995)::Animation|Children's\n2::Jumanji (1995)::Adventure\n10::Amélie::x\n".encode(
        "latin-1"
    ),
    "movies.csv": b'movieId,title,genres\n1,"American President, The (1995)",Comedy\n2,Heat,Action\n7,Sabrina,Comedy\n',
    "movie_titles.txt": NETFLIX_TITLES,
    "titles.tsv": b"item\ttitle\na\tFirst\nb\tSecond one\nc\tThird\n",
    "two.csv": b"5,five\n6,six\n7,seven\n",
}
IDS = ([1, 2, 3], ["1", "2"], ["a", "user 1", ""], [1.0, 2.5], [[1, 2], [3, 4]], [2**63, -1], [None, True], [0])


def pair_samples():
    """Pairs with and without ratings, and Netflix's probe."""
    text = {
        "probe.txt": b"1:\n30878\n2647871\n1283744\n10:\n1952305\n1531863\n",
        "two.csv": b"user,item\n1,2\n3,4\n5,1\n",
    }
    text |= {"three.csv": ratings.lines(","), "blank.txt": b"a b\nc d\ne f\n", "words.tsv": b"ann\tx y\nbob\tz\n"}
    return [single(name, data) for name, data in text.items()]


def pairs(path, use):
    """read_pairs."""
    from gpukit.ratings import read_pairs

    users, items = read_pairs(path)
    return {"users": users, "items": items}


def titles(path, use):
    """read_titles."""
    from gpukit.ratings import read_titles

    found = read_titles(path)
    return {"ids": list(found), "titles": list(found.values())}


def categories(path, use):
    """read_categories, or read_items."""
    from gpukit.factorization.lists.files import read_categories, read_items

    if use["items"]:
        return {"categories": [], "items": read_items(path)}
    found = read_categories(path)
    return {"categories": list(found), "items": sum(found.values(), [])}


def category_samples():
    """Categories, one or several per line, with and without a header."""
    text = {"one.csv": b"item,category\n1,Drama\n2,Comedy\n2,Drama\n", "bare.tsv": b"a\tx\nb\ty\nc\tx\n"}
    return [
        single(name, data)
        for name, data in {**text, **{name: TITLES[name] for name in ("movies.dat", "movies.csv")}}.items()
    ]


def ids(path, use):
    """Return the results for ids of a file (JSON or lines): recommend, similar_items, predict."""
    raw = path.read_bytes().decode("utf-8", "replace")
    try:
        asked = json.loads(raw)
    except (ValueError, RecursionError):
        asked = raw.splitlines()
    model = models.fitted(use["model"])
    if use["ask"] == "similar":
        asked = asked[0] if isinstance(asked, list) and asked else asked
        near, cosines = model.similar_items(asked, n=use["n"])
        return {"model": None, "items": near, "scores": cosines, "known": model.item_ids_}
    if use["ask"] == "predict":
        pairs = (asked, asked) if use["n"] % 2 else np.array([asked, asked], dtype=object).T
        return {"model": None, "predicted": model.predict(pairs), "scale": np.array(model.scale_)}
    items, scores = model.recommend(asked, n=use["n"], exclude_seen=False)
    return {"model": None, "items": items, "scores": scores, "known": model.item_ids_}


def id_uses(rng):
    """Return a model and a request."""
    which = ("MatrixFactorization", "LSHMF")[rng.integers(2)]
    return {"model": which, "ask": ("recommend", "predict", "similar")[rng.integers(3)], "n": int(rng.integers(1, 12))}


def id_samples():
    """Ids as JSON: only those that all requests accept are valid."""
    return [single("ids.json", json.dumps(known).encode()) for known in ([1, 2, 3], ["1", "2"], [3])]


KINDS = [
    Kind("pairs", pair_samples, TEXT, pairs, tables.pairs, pipes=True, share=2),
    Kind("titles", lambda: [single(*one) for one in TITLES.items()], TEXT, titles, tables.titles, pipes=True, share=2),
    Kind(
        "categories",
        category_samples,
        TEXT,
        categories,
        tables.categories,
        lambda rng: {"items": bool(rng.integers(2))},
        pipes=True,
    ),
    Kind("ids", id_samples, TEXT, ids, judges.asked, id_uses),
]
