"""Ratings of users that a model need not know: what recommend --ratings and update read."""

import copy

from fuzz.judges import models as judges
from fuzz.kinds import models, ratings
from fuzz.mutate.text import TEXT
from fuzz.registry import Kind, single


def samples():
    """Lists of one user, with a heading and without, and of several."""
    one = b"1,4\n2,3.5\n3,1\n"
    text = {"one.csv": one, "headed.csv": b"item,rating\n" + one, "tabs.tsv": one.replace(b",", b"\t")}
    return [single(name, data) for name, data in {**text, "several.csv": ratings.lines(",")}.items()]


def answer(path, use):
    """The recommendations for the users of a file, by a model that takes it as new ratings before, or not."""
    from gpukit.cli.factorization.listing.given import read_lists

    lists, model = read_lists(path, "auto", None, "last", None), models.fitted(use["model"])
    if use["learn"] and lists.user_ids.dtype.kind == "i":  # as the model's are
        model = copy.copy(model).partial_fit(lists, rows=use["rows"])
    tiles = list(model.recommend_for_batches(lists, 3))
    items, scores = ([row for tile in tiles for row in tile[part].tolist()] for part in (1, 2))
    return {"model": None, "items": items, "scores": scores, "known": model.item_ids_}


def uses(rng):
    """A model, whether it learns, and how."""
    which = ("MatrixFactorization", "LSHMF")[rng.integers(2)]
    return {"model": which, "learn": bool(rng.integers(2)), "rows": ("move", "frozen")[rng.integers(2)]}


KINDS = [Kind("lists", samples, TEXT, answer, judges.asked, uses)]
