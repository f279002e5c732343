"""Contents of the model file of a fitted GraphImputer (gpukit.persist writes it).

The basis, which is not unique, is included if fit has used it.
"""

import numpy as np

from gpukit import persist
from gpukit.base import check_choice
from gpukit.errors import DataError
from gpukit.graphs.basis import Basis, GraphBasis
from gpukit.imputation.auto import saving as plans
from gpukit.imputation.auto.saved_settings import spectral_of
from gpukit.imputation.spectral.choose import Trial
from gpukit.imputation.spectral.path import History
from gpukit.imputation.spectral.run import Setting
from gpukit.imputation.tables import window as holdings
from gpukit.io import trust

FACTS = {"rank_phase": str, "weights": str, "exponent": int | float, "center": str, "stages": dict, "device": str}
BASIS = {"exact": bool, "seconds": int | float, "source": str}
SPECTRAL = "spectral"
ARRAYS = ("completed", "ranks")


def packed(model):
    """Return (facts, arrays) of a fitted GraphImputer."""
    facts = {name: getattr(model, f"{name}_") for name in FACTS}
    basis = model.basis_ if uses_basis(model) and model._basis.is_made else None
    more = {
        "options": model.options_._asdict(),
        "dtype": model._dtype.name,
        "has_confidence": model._confidence is not None,
        "basis": None if basis is None else {name: getattr(basis, name) for name in BASIS},
        "trials": [written(trial) for trial in model.trials_],
    }
    labels, known = holdings.packed(model)
    arrays = {"ranks": model.ranks_, "lacking": model._lacking} | known | persist.spread("history", model.history_)
    if model._confidence is not None:
        arrays["confidence"] = model._confidence
    if basis is not None:
        arrays |= {"basis.values": basis.values, "basis.vectors": basis.vectors}
    if model.holdout_history_ is not None:
        arrays |= persist.spread("holdout", model.holdout_history_)
    plan, parts = plans.packed(model)
    return {**facts, **more, **plan, **labels}, arrays | parts


def uses_basis(model):
    """Return True if a fitted model transforms by its Fourier basis; fit of complete data does not compute it."""
    return model.plan_ is None or SPECTRAL in dict(model.plan_.members)


def unpack(model, facts, arrays):
    """Restore a GraphImputer from `packed` contents; raise DataError or ParameterError for invalid ones."""
    for name, kind in FACTS.items():
        setattr(model, f"{name}_", persist.entry_of(facts, name, kind))
    persist.check_seconds(model.stages_)
    decided = Setting(model.weights_, model.exponent_, model.center_, persist.entry_of(facts, "options", dict))
    model.options_ = spectral_of(decided._asdict(), type(model)).options
    model._dtype = np.dtype(check_choice("dtype in its header", facts.get("dtype"), ("float32", "float64")))
    model.trials_ = [read(trial, type(model)) for trial in persist.entry_of(facts, "trials", list)]
    made = _basis(facts["basis"], arrays) if facts.get("basis") is not None else None
    model.completed_, model.ranks_ = (arrays[name] for name in ARRAYS)
    plans.unpack(model, facts, arrays)
    if made is None and (model.adjacency_ is None or (model.plan_ is not None and uses_basis(model))):
        raise DataError("it does not contain the Fourier basis of the fit.")
    model._basis = GraphBasis(model.adjacency_, model.check().basis_size, made=made)
    _check_fitted(model._basis, model.completed_, model.ranks_)
    known, count = persist.entry_of(facts, "has_confidence", bool), model._basis.count
    model._lacking = _shares("lacking", arrays, count)
    model._confidence = _shares("confidence", arrays, count) if known else None
    holdings.unpack(model, facts, arrays)
    model.history_, model.holdout_history_ = _history(arrays, "history"), None
    if any(name.startswith("holdout.") for name in arrays):
        model.holdout_history_ = _history(arrays, "holdout")


def _basis(facts, arrays):
    """Return the validated Basis of a file."""
    facts = persist.entry_of({"basis": facts}, "basis", dict)
    for name, kind in BASIS.items():
        persist.entry_of(facts, name, kind)
    values, vectors = arrays["basis.values"], arrays["basis.vectors"]
    trust.check_array("basis.vectors", vectors, np.float64, (None, None))
    trust.check_array("basis.values", values, np.float64, vectors.shape[1:])
    for name, array in (("basis.values", values), ("basis.vectors", vectors)):
        trust.check_finite(name, array, 1e6)  # basis vectors have length 1
    if not 1 <= len(values) <= len(vectors) or (facts["exact"] and len(values) < len(vectors)):
        raise DataError(f"its basis has {len(values):,} vectors on {len(vectors):,} vertices.")
    return Basis(values, vectors, **{name: facts[name] for name in BASIS})


def _check_fitted(basis, completed, ranks):
    """Raise DataError unless the fitted arrays match the vertices of a basis."""
    count, size = basis.count, basis.size
    trust.check_array("completed", completed, (np.float32, np.float64), (count, *[None] * min(completed.ndim - 1, 2)))
    trust.check_finite("completed", completed)
    trust.check_array("ranks", ranks, np.int32, (size if ranks.size else 0,))
    trust.check_range("ranks", ranks, 0, 1 + (min(completed.shape[1:]) if completed.ndim == 3 else 1))


def _shares(name, arrays, count):
    """Return the validated shares (N,) of a name in a file."""
    trust.check_array(name, arrays[name], np.float64, (count,))
    place = trust.first(lambda block: ~((block >= 0) & (block <= 1)), arrays[name])
    if place is not None:
        raise DataError(f"{name}{list(place)} is {arrays[name][place]}; it is a number from 0 to 1.")
    return arrays[name]


def _history(arrays, prefix):
    """Return the validated History under a prefix: arrays of one length."""
    history = arrays.gathered(History, prefix)
    for name, array in history._asdict().items():
        kind = {"phase": np.dtype("<U4"), "max_rank": np.int64}.get(name, np.float64)
        trust.check_array(f"{prefix}.{name}", array, kind, (len(history.scale),))
    return history


def written(trial):
    """Return a Trial as a JSON object."""
    setting = trial.setting._asdict() | {"options": trial.setting.options._asdict()}
    return {"setting": setting, "curves": [curve.tolist() for curve in trial.curves]}


def read(found, estimator):
    """Return the Trial that `written` wrote, of an estimator class; raise DataError or ParameterError if invalid."""
    trial = persist.entry_of({"trial": found}, "trial", dict)
    setting, curves = persist.entry_of(trial, "setting", dict), persist.entry_of(trial, "curves", list)
    try:
        curves = [np.array(curve, np.float64) for curve in curves]
    except (TypeError, ValueError):
        raise DataError(f"{curves!r:.80} in its header are not error curves.") from None
    return Trial(spectral_of(setting, estimator), curves)
