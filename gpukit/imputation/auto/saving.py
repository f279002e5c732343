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
from gpukit.imputation.auto.plan import Plan, attributes_of
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
    if header is not None or "adjacency.data" in arrays:
        model.adjacency_ = read_adjacency(arrays, len(model.completed_))
    if header is not None:
        model.plan_ = read_plan(persist.entry_of(facts, "plan", dict), arrays, type(model))
    for name, value in attributes_of(model.plan_).items():
        setattr(model, name, value)


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
    shapes = {
        "shares": (KINDS, len(members)),
        "bends": (2, 2, KNOTS),
        "deviations": (KINDS + 1,),
        "law": (3, 3, FEATURES),
        "growth": (2,),
    }
    most = {"shares": 2.0}
    parts = (read_finite(arrays, f"plan.{name}", shape, most.get(name, np.inf)) for name, shape in shapes.items())
    shares, bends, by_kind, law, growth = parts
    if growth[0] < 0 or not 0 <= growth[1] <= 1:
        raise DataError(f"plan.growth is {growth.tolist()}; it is a change from 0 on and a power from 0 to 1.")
    coverage = dict(check_pairs("coverage", persist.entry_of(header, "coverage", list)))
    rows = [read_row(one) for one in persist.entry_of(header, "rows", list)]
    notes = [str(note) for note in persist.entry_of(header, "notes", list)]
    return Plan(members, shares, bends, Deviations(by_kind, law, coverage, growth), rows, notes, units_in(arrays))


def read_finite(arrays, name, shape, most=np.inf):
    """Return a checked float64 array of a file; most: largest absolute value."""
    trust.check_array(name, arrays[name], np.float64, shape)
    trust.check_finite(name, arrays[name], most)
    return arrays[name]


def units_in(arrays):
    """Return the Units in a file, a number for each vertex of its tensor; None if there are none."""
    if "plan.units.level" not in arrays:
        return None
    count = len(arrays["completed"])
    units = Units(*(read_finite(arrays, f"plan.units.{name}", (count,)) for name in Units._fields))
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
