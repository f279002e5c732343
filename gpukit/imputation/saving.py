"""What a file keeps of a fitted GraphImputer (gpukit.persist writes it): the basis too, which is not unique."""

import numpy as np

from gpukit import persist
from gpukit.graphs.basis import Basis
from gpukit.imputation.choose import Trial
from gpukit.imputation.spectral.path import History, Options
from gpukit.imputation.spectral.run import Setting

FACTS = ("rank_phase", "weights", "exponent", "center", "stages", "device")
ARRAYS = ("completed", "confidence", "ranks")


def packed(model):
    """(facts, arrays) of a fitted GraphImputer."""
    facts = {name: getattr(model, f"{name}_") for name in FACTS}
    basis = model.basis_
    more = {
        "options": model.options_._asdict(),
        "dtype": model._dtype.name,
        "basis": {"exact": basis.exact, "seconds": basis.seconds, "source": basis.source},
        "trials": [written(trial) for trial in model.trials_],
    }
    arrays = {name: getattr(model, f"{name}_") for name in ARRAYS} | persist.spread("history", model.history_)
    if model.holdout_history_ is not None:
        arrays |= persist.spread("holdout", model.holdout_history_)
    return {**facts, **more}, {**arrays, "basis.values": basis.values, "basis.vectors": basis.vectors}


def unpack(model, facts, arrays):
    """Give a GraphImputer what `packed` took from one."""
    for name in FACTS:
        setattr(model, f"{name}_", facts[name])
    model.options_, model._dtype = Options(**facts["options"]), np.dtype(facts["dtype"])
    model.trials_ = [read(trial) for trial in facts["trials"]]
    model.history_ = arrays.gathered(History, "history")
    model.holdout_history_ = arrays.gathered(History, "holdout") if "holdout.error" in arrays else None
    model.basis_ = Basis(arrays["basis.values"], arrays["basis.vectors"], **facts["basis"])
    for name in ARRAYS:
        setattr(model, f"{name}_", arrays[name])


def written(trial):
    """A Trial for JSON."""
    setting = trial.setting._asdict() | {"options": trial.setting.options._asdict()}
    return {"setting": setting, "curves": [curve.tolist() for curve in trial.curves]}


def read(found):
    """The Trial that `written` wrote."""
    setting = Setting(**found["setting"])._replace(options=Options(**found["setting"]["options"]))
    return Trial(setting, [np.array(curve) for curve in found["curves"]])
