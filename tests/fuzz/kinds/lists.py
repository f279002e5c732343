"""Ratings of users whom a model may not know, for recommend --ratings and update."""

import copy

import numpy as np

from fuzz.judges import models as judges
from fuzz.kinds import models, ratings
from fuzz.mutate.text import TEXT
from fuzz.registry import Kind, single


def samples():
    """Lists of one user, with and without a header, and of several users."""
    one = b"1,4\n2,3.5\n3,1\n"
    text = {"one.csv": one, "headed.csv": b"item,rating\n" + one, "tabs.tsv": one.replace(b",", b"\t")}
    return [single(name, data) for name, data in {**text, "several.csv": ratings.lines(",")}.items()]


def answer(path, use):
    """Return recommendations for the users of a file.

    The model is updated with the file or not.
    """
    from gpukit.cli.factorization.listing import read_lists

    lists, model = read_lists(path, "auto", None, "last", None), models.fitted(use["model"])
    if use["learn"] and lists.user_ids.dtype.kind == "i":  # the model's types
        model = copy.copy(model).partial_fit(lists, rows=use["rows"])
    tiles = list(model.recommend_for_batches(lists, 3, unknown="skip"))
    items, scores = ([row for tile in tiles for row in tile[part].tolist()] for part in (1, 2))
    return {"model": None, "items": items, "scores": scores, "known": model.item_ids_}


def uses(rng):
    """Return a model, the update or not, and the method."""
    which = ("MatrixFactorization", "LSHMF")[rng.integers(2)]
    return {"model": which, "learn": bool(rng.integers(2)), "rows": ("move", "frozen")[rng.integers(2)]}


def filter_samples():
    """Return files of filtered items, with and without a header.

    Lists may or must not contain these items; further files have categories.
    """
    text = {"allow.txt": b"i1\ni2\ni3\ni4\ni5\n", "headed.csv": b"item,why\ni1,x\ni3,y\ni9,z\n"}
    text |= {"categories.csv": b"item,genre\ni1,Drama\ni2,Comedy\ni2,Drama\ni4,Drama\n"}
    return [single(name, data) for name, data in text.items()]


def filtered(path, use):
    """Return filtered lists by the options of `recommend` and by the library."""
    from types import SimpleNamespace

    from gpukit.cli.factorization import listing

    none = {"only": (), "without": (), "only_category": (), "without_category": (), "categories": None}
    numbers = {"min_support": 0, "popularity": use["popularity"], "diversity": use["diversity"]}
    ask = SimpleNamespace(**none, **numbers, quiet=True, as_json=False, silent=True)
    categories = use["how"].endswith("category")
    setattr(ask, use["how"], ("Drama",) if categories else (str(path),))
    ask.categories = str(path) if categories else None
    model = models.fitted("LSHMF")
    shown = listing.filters_of(ask, model.item_ids_)
    items, scores = model.recommend(n=5, filters=shown)
    only = model.item_ids_ if shown.only is None else np.asarray(shown.only)
    allowed = np.setdiff1d(only, np.asarray(shown.without))
    options = {"how": use["how"], "diverse": use["diversity"] > 0}
    return {"model": None, "items": items, "scores": scores, "known": allowed, **options}


def filter_uses(rng):
    """Return an option of the filter, and further options."""
    how = ("only", "without", "only_category", "without_category")[rng.integers(4)]
    return {"how": how, "popularity": float(rng.integers(3) - 1) / 2, "diversity": float(rng.integers(3)) / 2}


KINDS = [
    Kind("lists", samples, TEXT, answer, judges.asked, uses),
    Kind("filters", filter_samples, TEXT, filtered, judges.filtered, filter_uses),
]
