"""Fitted imputers of every plan: single methods, data-dependent choices, ensembles, corrected ones."""

import functools
import warnings

import numpy as np

from fuzz.judges import models as judges
from fuzz.kinds import models
from fuzz.mutate import container
from fuzz.registry import Kind

VERTICES, COLUMNS = 12, 24
RING = np.roll(np.eye(VERTICES), 1, axis=1) + np.roll(np.eye(VERTICES), -1, axis=1)
PLANS = (
    "auto",
    "local",
    "kriging",
    "smoothness",
    "interpolation",
)


def series(seed=11, columns=COLUMNS):
    """Return (VERTICES, columns) in time, smooth on the ring.

    Intervals and a vertex are missing.
    """
    rng = np.random.default_rng(seed)
    time, vertex = np.arange(columns), np.arange(VERTICES)[:, None]
    values = np.sin(0.5 * time + 0.4 * vertex) + 0.2 * np.cos(vertex) + rng.normal(size=(VERTICES, columns)) / 20
    values[rng.random(values.shape) < 0.1] = np.nan
    values[3, 5:11], values[7] = np.nan, np.nan
    return values.round(3)


def unordered(seed=13):
    """(VERTICES, 5): too few columns to determine an order."""
    values = np.random.default_rng(seed).normal(size=(VERTICES, 5)).round(3)
    values[2], values[5, 1] = np.nan, np.nan
    return values


@functools.lru_cache(None)
def fitted():
    """Return an imputer per plan.

    Of PLANS on series in time, with bounds, without an order, and one ensemble with corrections.
    """
    import gpukit

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [gpukit.GraphImputer(method=name, iterations=4, device="cpu").fit(RING, series()) for name in PLANS]
        bounds = {"minimum": -1.5, "maximum": 1.5, "metric": "squared"}
        made.append(gpukit.GraphImputer(**bounds, iterations=4, device="cpu").fit(RING, unordered()))
        made.append(mixed(gpukit.GraphImputer(iterations=4, device="cpu").fit(RING, series())))
    for model in made:
        model.stages_ = dict.fromkeys(model.stages_, 0.5)
        from gpukit.graphs.basis import GraphBasis

        model._basis = GraphBasis(model.adjacency_, made=model.basis_._replace(seconds=0.5))
    return made


def mixed(model):
    """An imputer with an ensemble of all kinds of methods, corrected."""
    plan = model.plan_
    members = [(name, setting) for part in fitted_members() for name, setting in part]
    shares = np.full((len(plan.shares), len(members)), 1 / len(members))
    model.plan_ = plan._replace(members=members, shares=shares, bends=plan.bends + 0.01)
    model.method_ = model.plan_.method
    return model


def fitted_members():
    """Members of plans of one method each, for methods with a setting."""
    import gpukit

    names = ("local", "kriging", "smoothness", "two-way-mean")
    made = [gpukit.GraphImputer(method=name, iterations=4, device="cpu").fit(RING, series()) for name in names]
    return [model.plan_.members for model in made] + [[spectral_member()]]


def spectral_member():
    """The spectral method as a member of an ensemble."""
    from gpukit.imputation.spectral.choose import pack_setting
    from gpukit.imputation.spectral.path import Options
    from gpukit.imputation.spectral.run import Setting

    return "spectral", pack_setting(Setting("common", 1.0, "entry", Options(4, None, 1e-8, True, True, 4)))


def answer(path, use):
    """Impute tensors of other lengths on the same graph.

    Equal, shorter, and with too few columns for an order.
    """
    model, out = models.loaded(path)
    values = {"same": series(5), "short": series(5, 9), "unordered": unordered(5)}[use["data"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        filled = model.transform(values)
    summary = {"report": [tuple(row) for row in model.report_], "coverage": model.coverage_, "notes": model.notes_}
    out |= {"values": values, "filled": filled, "confidence": model.confidence_, "completed": model.completed_}
    return {
        **out,
        "deviation": model.deviation_,
        "bounds": model._fitted_options[2:],
        "method": model.method_,
        "summary": summary,
    }


def uses(rng):
    """Return the tensor to impute."""
    return {"data": ("same", "short", "unordered")[rng.integers(3)]}


KINDS = [
    Kind(
        "model-Imputers",
        lambda: [models.saved(model) for model in fitted()],
        container.MODEL,
        answer,
        judges.planned,
        uses,
        same=True,
        share=2,
    )
]
