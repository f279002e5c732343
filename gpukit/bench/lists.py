"""What lists for everybody cost: ten items for each user, by the predicted rating and by what ranks lists, and
learning that."""

from gpukit.bench.conditions import shape_name
from gpukit.bench.ratings import generated
from gpukit.bench.record import Row
from gpukit.bench.timing import seconds

SHAPES, MORE = ("netflix",), ("ml-10m",)
LISTED = 10


def for_everybody(model, by):
    """Lists for all users of a fitted model."""
    for _ in model.recommend_batches(n=LISTED, by=by):
        pass


def learn(model):
    """Learn anew what ranks lists."""
    vars(model).pop("_head", None)
    model.fit_lists()


def lists(conditions):
    """Seconds of lists for all users, from a model in memory to ids and scores in memory."""
    from gpukit.factorization import LSHMF

    for like in conditions.among(SHAPES, MORE):
        train, _ = generated(like, conditions.scale)
        model = LSHMF(n_factors=32, n_neighbors=32, n_epochs=2, device=conditions.device).fit(train)
        where, size = (shape_name(like, conditions.scale), "generated"), f"{LISTED} items for each user"
        yield Row("learning what ranks lists", *where, seconds(lambda model=model: learn(model), 5), "s")
        for by in ("rating", "lists"):
            samples = seconds(lambda model=model, by=by: for_everybody(model, by), 5)
            yield Row(f"{size}, by {by}, CULSH-MF F=32 K=32", *where, samples, "s")


BENCHES = {"lists": lists}
