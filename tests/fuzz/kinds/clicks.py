"""Models and checkpoints of clicks: least squares, sampled negatives, ensembles, models with neighbours."""

import functools
import shutil
import tempfile
from pathlib import Path

import numpy as np

from fuzz.judges import models as judges
from fuzz.kinds import models, ratings
from fuzz.mutate import container
from fuzz.registry import Kind, single

SQUARES = {**models.SMALL, "solver": "ials", "regularization": 0.01, "unobserved_weight": 0.3}
SAMPLED = {**models.SMALL, "solver": "sampled", "loss": "bpr", "n_negatives": 2}


def clicks():
    """Ratings whose values are 1, with counts."""
    return ratings.variants()[2]


@functools.lru_cache(None)
def estimators():
    """Return fitted models of all solvers and ensembles.

    Least squares, also with popularity; negatives with and without neighbours; ensembles. One model is
    updated with further clicks.
    """
    import gpukit

    squares = gpukit.LSHMF(**SQUARES).fit(clicks())
    sampled = gpukit.LSHMF(**SAMPLED, n_neighbors=3, lsh_q=8).fit(clicks())
    plain = gpukit.MatrixFactorization(**SAMPLED).fit(clicks())
    updated = gpukit.LSHMF(**SQUARES).fit(clicks()).partial_fit(clicks().take(np.arange(12)))
    made = [
        squares,
        sampled,
        plain,
        updated,
        *(joined(**how) for how in ({"popular": 0.3}, {"mixed": 0.1})),
    ]
    for model in made:
        if hasattr(model, "updates_"):
            model.updates_ = [{**one, "seconds": dict.fromkeys(one["seconds"], 0.5)} for one in model.updates_]
    return [models.without_times(model, type(model).__name__) for model in made]


def joined(**how):
    """Return a model of least squares with a second predictor."""
    from unittest import mock

    import gpukit
    from gpukit.factorization.implicit import choosing
    from gpukit.factorization.settings import Choice

    def choose(estimator, clicks, settings, device, progress):
        return Choice(settings._replace(**how, n_neighbors=3), [], "chosen")

    with mock.patch.object(choosing, "choose", choose):
        return gpukit.LSHMF(**SQUARES, lsh_q=8).fit(clicks())


def checkpoints():
    """Samples of checkpoints of both solvers."""
    from gpukit.factorization.model import saving
    from gpukit.factorization.settings import Choice

    data, made = saving.fingerprint(clicks()), []
    for model in estimators()[0], estimators()[2]:
        sizes = {"n_factors": model.user_factors_.shape[1], "n_neighbors": model.neighbors_.shape[1]}
        choice = Choice(model.check(len(clicks()), "implicit")._replace(**sizes), [], "named")
        model.history_ = [{"epoch": 1, "seconds": 0.5, "rmse": None}]
        with tempfile.TemporaryDirectory() as folder:
            saving.save_checkpoint(Path(folder) / "ck", model, model._state, None, 1, data, choice)
            made.append(single(f"{type(model).__name__}.ck", (Path(folder) / "ck").read_bytes()))
    return made


def resumed(path, use):
    """Resume a checkpoint to its end."""
    import gpukit

    squares = path.name.startswith("LSHMF")
    model = gpukit.LSHMF(**SQUARES) if squares else gpukit.MatrixFactorization(**SAMPLED)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, Path(folder) / "ck")
        model.fit(clicks(), checkpoint=Path(folder) / "ck", resume=True)
        model.save(Path(folder) / "m")
        found = models.factorization(Path(folder) / "m", use)
    found["facts"] = {"epochs": [epoch["epoch"] for epoch in model.history_]}
    return found


KINDS = [
    Kind(
        "model-Clicks",
        lambda: [models.saved(model) for model in estimators()],
        container.MODEL,
        models.factorization,
        judges.factorization,
        same=True,
        share=2,
    ),
    Kind("checkpoint-Clicks", checkpoints, container.MODEL, resumed, judges.resumed, same=True, share=0.5),
]
