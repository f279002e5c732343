"""Model files: reading and writing a plan and its errors."""

import numpy as np

from gpukit import persist
from gpukit.base import check_choice, check_real
from gpukit.base.arrays import on_host
from gpukit.errors import DataError
from gpukit.graphs.adjacency import as_adjacency
from gpukit.imputation import options as fitted
from gpukit.imputation.auto.calibration import KNOTS
from gpukit.imputation.auto.error_features import FEATURES
from gpukit.imputation.auto.gap_kinds import KINDS
from gpukit.imputation.auto.judging import Row
from gpukit.imputation.auto.methods import BY_NAME
from gpukit.imputation.auto.plan import Plan
from gpukit.imputation.auto.saved_settings import setting_of
from gpukit.imputation.auto.uncertainty import Deviations
from gpukit.imputation.units import Units
from gpukit.io import trust

PARTS = {"data": np.float64, "indices": np.int32, "indptr": np.int32}  # of the adjacency


def packed(model):
    """Return (facts, arrays) of the plan of a fitted GraphImputer."""
    plan, arrays = model.plan_, {"deviation": on_host(model._held.spread)}
    options = model._fitted_options._asdict()
    if plan is None:
        return {"plan": None, "asked": options}, arrays | (
            {} if model._basis.is_made else adjacency_arrays(model.adjacency_)
        )
    header = {
        "members": [[name, setting] for name, setting in plan.members],
        "rows": [[None if one != one else one for one in row] for row in plan.rows],  # JSON has no NaN
        "coverage": [[share, found] for share, found in plan.deviations.coverage.items()],
        "notes": plan.notes,
    }
    arrays |= {
        "plan.shares": plan.shares,
        "plan.bends": plan.bends,
        "plan.deviations": plan.deviations.by_kind,
        "plan.law": plan.deviations.law,
        "plan.growth": plan.deviations.growth,
    }
    if plan.units is not None:
        arrays |= persist.spread("plan.units", plan.units)
    return {"plan": header, "asked": options}, arrays | adjacency_arrays(model.adjacency_)


def adjacency_arrays(adjacency):
    """Return {name: array} of an adjacency, csr (N, N)."""
    return {f"adjacency.{part}": np.asarray(getattr(adjacency, part), kind) for part, kind in PARTS.items()}


def unpack(model, facts, arrays):
    """Restore the plan of a GraphImputer whose completed tensor is loaded.

    DataError or ParameterError for invalid contents.
    """
    header, model._fitted_options = facts.get("plan"), fitted.read(persist.entry_of(facts, "asked", dict))
    trust.check_array("deviation", arrays["deviation"], np.float64, model.completed_.shape)
    position = trust.first(lambda block: (block < 0) | np.isinf(block), arrays["deviation"])
    if position is not None:
        raise DataError(
            f"deviation{list(position)} is {arrays['deviation'][position]}; it is a number from 0 on, or NaN."
        )
    model.deviation_, model.plan_, model.adjacency_ = arrays["deviation"], None, None
    model.method_, model.report_, model.coverage_, model.notes_ = "spectral", [], {}, []
    if header is not None or "adjacency.data" in arrays:
        model.adjacency_ = read_adjacency(arrays, len(model.completed_))
    if header is None:
        return
    header = persist.entry_of(facts, "plan", dict)
    model.plan_ = plan = read_plan(header, arrays, type(model))
    model.method_, model.report_, model.coverage_, model.notes_ = (
        plan.method,
        plan.rows,
        plan.deviations.coverage,
        plan.notes,
    )


def read_adjacency(arrays, count):
    """Return the checked adjacency of a file."""
    from scipy import sparse

    parts = [arrays[f"adjacency.{part}"] for part in PARTS]
    for part, kind in zip(parts, PARTS.values(), strict=True):
        trust.check_array("adjacency", part, kind, (None,))
    data, indices, pointers = parts
    trust.check_compressed("adjacency", pointers, indices, data, (count, count))
    return as_adjacency(sparse.csr_matrix(tuple(parts), (count, count)))


def read_plan(header, arrays, estimator):
    """Return the Plan in a file, for an estimator class."""
    members = [read_member(one, estimator) for one in persist.entry_of(header, "members", list)]
    shares, by_kind, law = arrays["plan.shares"], arrays["plan.deviations"], arrays["plan.law"]
    bends = arrays["plan.bends"]
    trust.check_array("plan.bends", bends, np.float64, (2, 2, KNOTS))
    trust.check_finite("plan.bends", bends)
    trust.check_array("plan.law", law, np.float64, (3, 3, FEATURES))
    trust.check_finite("plan.law", law)
    trust.check_array("plan.shares", shares, np.float64, (KINDS, len(members)))
    trust.check_array("plan.deviations", by_kind, np.float64, (KINDS + 1,))
    growth = arrays["plan.growth"]
    trust.check_array("plan.growth", growth, np.float64, (2,))
    trust.check_finite("plan.growth", growth)
    if growth[0] < 0 or not 0 <= growth[1] <= 1:
        raise DataError(f"plan.growth is {growth.tolist()}; it is a change from 0 on and a power from 0 to 1.")
    trust.check_finite("plan.shares", shares, 2.0)
    trust.check_finite("plan.deviations", by_kind)
    coverage = dict(check_pairs("coverage", persist.entry_of(header, "coverage", list)))
    rows = [read_row(one) for one in persist.entry_of(header, "rows", list)]
    notes = [str(note) for note in persist.entry_of(header, "notes", list)]
    return Plan(members, shares, bends, Deviations(by_kind, law, coverage, growth), rows, notes, units_in(arrays))


def units_in(arrays):
    """Return the Units in a file, a number for each vertex of its tensor; None if there are none."""
    if "plan.units.level" not in arrays:
        return None
    units, count = arrays.gathered(Units, "plan.units"), len(arrays["completed"])
    for name, array in units._asdict().items():
        trust.check_array(f"plan.units.{name}", array, np.float64, (count,))
        trust.check_finite(f"plan.units.{name}", array)
    if (units.size <= 0).any():
        raise DataError(f"plan.units.size has {units.size.min():g}; spreads are above 0.")
    return units


def check_pairs(name, values):
    """Return values; DataError unless it is a list of pairs."""
    if not all(isinstance(one, list) and len(one) == 2 for one in values):
        raise DataError(f"{name} of the plan in its header is {values!r:.80}; it is a list of pairs.")
    return values


def read_member(entry, estimator):
    """Return (name, setting) of a method."""
    ((name, setting),) = check_pairs("members", [entry])
    check_choice("a method in its header", name, tuple(BY_NAME))
    if not isinstance(setting, dict):
        raise DataError(f"the setting of {name} in its header is {setting!r:.80}.")
    return name, setting_of(name, setting, estimator)


def read_row(entry):
    """Return the judging.Row of a list."""
    if not isinstance(entry, list) or len(entry) != len(Row._fields) or not isinstance(entry[1], dict):
        raise DataError(f"{entry!r:.80} in its header is no row of a report.")
    name, setting, *numbers = entry
    numbers = [float("nan") if number is None else check_real("a row", number, 0.0) for number in numbers]
    return Row(str(name), setting, *numbers)
