"""`gpukit bench negatives`: one epoch over clicks and their sampled negatives, generated, of the papers' shapes."""

import numpy as np

from gpukit.bench import ratings
from gpukit.bench.conditions import shape_name
from gpukit.bench.record import Row
from gpukit.bench.timing import milliseconds
from gpukit.factorization import LSHMF, MatrixFactorization

MODELS = {"CUSGD++": MatrixFactorization, "CULSH-MF": LSHMF}
NAMED = {"n_epochs": 15, "regularization": 0.0075, "unobserved_weight": 0.0}  # nothing is left to choose


def negatives(conditions):
    """An epoch of both losses, with and without neighbourhoods, for two numbers of factors."""
    for like in conditions.among(ratings.SHAPES, ratings.MORE):
        clicks = as_clicks(ratings.generated(like, conditions.scale)[0])
        for name, kind in MODELS.items():
            for factors, loss in ((32, "cross-entropy"), (128, "cross-entropy"), (32, "bpr")):
                model = kind(n_factors=factors, loss=loss, feedback="implicit", device=conditions.device, **NAMED)
                run = model.prepare(clicks)
                samples = milliseconds(lambda run=run: run.training.epoch(0), 5)
                ratings.check_finite(run.session)
                what = f"one epoch {name} {loss} F={factors}{' K=32' * (name == 'CULSH-MF')}"
                note = f"{run.settings.n_negatives} negatives a click, {len(clicks):,} clicks"
                yield Row(what, shape_name(like, conditions.scale), "generated", samples, "ms", note)
                del run


def as_clicks(table):
    """Ratings with values of 1."""
    return table.with_columns(users=table.users, items=table.items, values=np.ones(len(table), np.float32))


BENCHES = {"negatives": negatives}
