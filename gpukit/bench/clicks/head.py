"""`gpukit bench head`: lists of a model of ratings, on NCF's MovieLens 1M with its ratings: what learning their head
costs, what the default ranking comes to beside that by predicted rating, and how much of it hardly anybody knows.

What ranks lists hangs on the ratings alone, so the model beside it is a small one. On a CPU the time is CPU time.
"""

import time

import numpy as np

from gpukit.bench.clicks import ncf_data
from gpukit.bench.conditions import shape_name
from gpukit.bench.lists import learn
from gpukit.bench.record import Row
from gpukit.bench.timing import seconds
from gpukit.errors import DataError
from gpukit.evaluation.lists.shown import FEW
from gpukit.factorization import MatrixFactorization
from gpukit.factorization.answers import judging

TIMES, LEAST = 5, 0.5  # HR@10 that lists come to where anything was learned


def head(conditions):
    """Yield the Rows of lists of a model of ratings."""
    ratings, tests = ncf_data.ratings(conditions.data, conditions.scale)
    model = MatrixFactorization(n_factors=4, n_epochs=2, device=conditions.device).fit(ratings)
    where = shape_name(ncf_data.NAME, conditions.scale), "real"
    what, clock = "learning what ranks lists", time.perf_counter
    if not conditions.device.is_cuda:
        what, clock = f"CPU time of {what}", time.process_time
    yield Row(what, *where, seconds(lambda: learn(model), TIMES, clock=clock), "s", f"{len(ratings):,} ratings")
    for by in ("lists", "rating"):
        yield from judged(model, tests, by, where)


def judged(model, tests, by, where):
    """Yield the Rows of a ranking of a model: HR and NDCG among the negatives, slots of items that few have rated."""
    values = judging.judge_sampled({"": model}, tests, ncf_data.K, False, by).judged[0].values[ncf_data.K]
    if by == "lists" and np.mean(values["hr"]) < LEAST:
        raise DataError(f"Lists come to HR@10 {np.mean(values['hr']):.3f}, below {LEAST}: nothing was learned.")
    for metric, called in {"hr": "HR@10", "ndcg": "NDCG@10"}.items():
        yield Row(f"{called} of lists of ratings, by {by}", *where, [float(np.mean(values[metric]))], called)
    few = judging.judge_lists({"": model}, (tests.users, tests.clicks), ncf_data.K, False, by=by).rows(ncf_data.K)[0][
        "few"
    ]
    note = f"slots of items with fewer than {FEW} ratings"
    yield Row(f"little known items in lists of ratings, by {by}", *where, [100 * few], "percent", note)


BENCHES = {"head": head}
