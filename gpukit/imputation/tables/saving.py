"""What a file keeps of the series that a fitted imputer holds, and of its labels."""

import numpy as np

from gpukit import persist
from gpukit.base.arrays import on_host
from gpukit.errors import DataError
from gpukit.imputation.tables.window import Held
from gpukit.io import trust


def packed(model):
    """(facts, {name: array}) of a fitted GraphImputer."""
    held = model._held
    found = {"completed": on_host(held.filled), "held.mask": held.mask, "held.at": held.at, "vertices": model.vertices_}
    known = {name: array for name, array in found.items() if array is not None}
    return {"labels": sorted(set(known) & {"held.at", "vertices"}), "table": getattr(model, "_is_table", False)}, known


def unpack(model, facts, arrays):
    """Give a GraphImputer, whose completed tensor and deviations are there, what `packed` took from one; DataError for
    what is none."""
    known = persist.entry_of(facts, "labels", list)
    model.vertices_ = vertices_of(arrays["vertices"], len(model.completed_)) if "vertices" in known else None
    model._is_table = facts.get("table") is True
    mask, at = arrays["held.mask"], arrays["held.at"] if "held.at" in known else None
    shape = model.completed_.shape
    trust.check_array("held.mask", mask, np.bool_, shape[:1] if np.ndim(mask) == 1 else shape)
    if at is not None:
        trust.check_array("held.at", at, np.float64, (int(np.prod(shape[1:])),))
        trust.check_finite("held.at", at)
        if not (np.diff(at) > 0).all():
            raise DataError("held.at does not rise.")
    model._held = Held(model.completed_, model.deviation_, mask, at)


def vertices_of(ids, count):
    """The ids in a file, checked."""
    if ids.shape != (count,) or ids.dtype.kind not in "iuU" or trust.repeated(ids) is not None:
        raise DataError(f"vertices are not {count:,} different ids.")
    return ids
