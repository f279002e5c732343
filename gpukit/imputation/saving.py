"""Contents of the model file of a fitted GraphImputer (gpukit.persist writes it).

The basis, which is not unique, is included if fit has used it; histories, trials and ranks are not. Settings are
validated before loops and array sizes use them.
"""

from functools import partial

import numpy as np

from gpukit import persist
from gpukit.base import check_choice, check_integer, check_real
from gpukit.errors import DataError
from gpukit.graphs.adjacency import as_adjacency
from gpukit.graphs.basis import Basis, GraphBasis
from gpukit.imputation import options as fitted
from gpukit.imputation.auto.judging import KINDS, Row
from gpukit.imputation.auto.plan import BY_NAME, KNOTS, Plan, attributes_of
from gpukit.imputation.auto.uncertainty import FEATURES, Deviations
from gpukit.imputation.constants import MOST_SERIES
from gpukit.imputation.problem import CENTERS, Units
from gpukit.imputation.serve import Held, empty_fit
from gpukit.imputation.spectral import choose as spectral
from gpukit.imputation.spectral.path import WEIGHTS, Options
from gpukit.imputation.spectral.run import Setting
from gpukit.io import trust

FACTS = {"rank_phase": str, "weights": str, "exponent": int | float, "center": str, "stages": dict, "device": str}
BASIS = {"exact": bool, "seconds": int | float, "source": str}
SPECTRAL = "spectral"
PARTS = {"data": np.float64, "indices": np.int32, "indptr": np.int32}  # of the adjacency
LARGEST = 1e6  # of numbers


def pack_model(model):
    """Return (facts, arrays) of a fitted GraphImputer."""
    facts = persist.facts_of(model, FACTS)
    basis = model.basis_ if uses_basis(model) and model._basis.is_made else None
    more = {
        "options": model.options_._asdict(),
        "dtype": model._dtype.name,
        "basis": None if basis is None else {name: getattr(basis, name) for name in BASIS},
    }
    labels, known = pack_held(model)
    vectors = {} if basis is None else {"basis.values": basis.values, "basis.vectors": basis.vectors}
    plan, parts = pack_plan(model)
    return {**facts, **more, **plan, **labels}, known | vectors | parts


def uses_basis(model):
    """Return True if a fitted model transforms by its Fourier basis; fit of complete data does not compute it."""
    return model.plan_ is None or SPECTRAL in dict(model.plan_.members)


def unpack(model, facts, arrays):
    """Restore a GraphImputer from `pack_model` contents; raise DataError or ParameterError for invalid ones."""
    for name, kind in FACTS.items():
        setattr(model, f"{name}_", persist.entry_of(facts, name, kind))
    persist.check_seconds(model.stages_)
    decided = Setting(model.weights_, model.exponent_, model.center_, persist.entry_of(facts, "options", dict))
    model.options_ = spectral_of(decided._asdict(), type(model)).options
    model._dtype = np.dtype(check_choice("dtype in its header", facts.get("dtype"), ("float32", "float64")))
    basis = persist.entry_of({"basis": None, **facts}, "basis", dict | None)
    result = None if basis is None else _basis(basis, arrays)
    model.completed_ = arrays["completed"]
    unpack_plan(model, facts, arrays)
    if result is None and (model.adjacency_ is None or (model.plan_ is not None and uses_basis(model))):
        raise DataError("it does not contain the Fourier basis of the fit.")
    model._basis = GraphBasis(model.adjacency_, model.check().basis_size, made=result)
    shape = (model._basis.count, *[None] * min(model.completed_.ndim - 1, 2))
    trust.check_array("completed", model.completed_, (np.float32, np.float64), shape)
    trust.check_finite("completed", model.completed_)
    model._confidence = None
    unpack_held(model, facts, arrays)
    fit = empty_fit()
    model.history_, model.ranks_, model.trials_ = fit.history, fit.ranks, []


def _basis(facts, arrays):
    """Return the validated Basis of a file."""
    facts = {name: persist.entry_of(facts, name, kind) for name, kind in BASIS.items()}
    vectors = read_finite(arrays, "basis.vectors", (None, None), 1e6)  # of length 1
    values = read_finite(arrays, "basis.values", vectors.shape[1:], 1e6)
    if not 1 <= len(values) <= len(vectors) or (facts["exact"] and len(values) < len(vectors)):
        raise DataError(f"its basis has {len(values):,} vectors on {len(vectors):,} vertices.")
    return Basis(values, vectors, **facts)


def pack_held(model):
    """Return (facts, {name: array}) of a fitted GraphImputer."""
    held = model._held
    result = {
        "completed": held.filled,
        "held.mask": held.mask,
        "held.at": held.at,
        "vertices": model.vertices_,
    }
    known = {name: array for name, array in result.items() if array is not None}
    facts = {
        "labels": sorted(set(known) & {"held.at", "vertices"}),
        "table": getattr(model, "_is_table", False),
        "frame": getattr(model, "_is_frame", False),
        "offset": held.has_offset,
    }
    return facts, known


def unpack_held(model, facts, arrays):
    """Restore the stored series of a GraphImputer from `pack_held` contents.

    Its completed tensor and deviations are set before. Raises DataError for invalid contents.
    """
    known = persist.entry_of(facts, "labels", list)
    model.vertices_ = vertices_of(arrays["vertices"], len(model.completed_)) if "vertices" in known else None
    model._is_table = facts.get("table") is True
    model._is_frame = facts.get("frame") is True
    mask, times = arrays["held.mask"], arrays["held.at"] if "held.at" in known else None
    shape = model.completed_.shape
    trust.check_array("held.mask", mask, np.bool_, shape[:1] if np.ndim(mask) == 1 else shape)
    if times is not None:
        trust.check_array("held.at", times, np.float64, (int(np.prod(shape[1:])),))
        trust.check_finite("held.at", times)
        if not (np.diff(times) > 0).all():
            raise DataError("held.at does not rise.")
    is_known = facts.get("offset") is not None  # earlier versions did not keep it
    has_offset = persist.entry_of(facts, "offset", bool) if is_known else None
    model._held = Held(model.completed_, model.deviation_, mask, times, has_offset)


def vertices_of(ids, count):
    """Return the validated ids of a file."""
    if ids.shape != (count,) or ids.dtype.kind not in "iuU" or trust.first_repeated(ids) is not None:
        raise DataError(f"vertices are not {count:,} different ids.")
    return ids


def pack_plan(model):
    """Return (facts, arrays) of the plan of a fitted GraphImputer."""
    plan, arrays = model.plan_, {"deviation": model._held.spread}
    options = model._fitted_options._asdict()
    if plan is None:
        adjacency = {} if model._basis.is_made else adjacency_arrays(model.adjacency_)
        return {"plan": None, "asked": options}, arrays | adjacency
    header = {
        "members": [[name, setting] for name, setting in plan.members],
        "rows": [[None if value != value else value for value in row] for row in plan.rows],  # JSON has no NaN
        "coverage": [[share, result] for share, result in plan.deviations.coverage.items()],
        "notes": plan.notes,
    }
    deviations = plan.deviations
    parts = plan.shares, plan.bends, deviations.by_kind, deviations.law, deviations.growth
    arrays |= {f"plan.{name}": part for name, part in zip(shapes_of_plan(len(plan.members)), parts, strict=True)}
    if plan.units is not None:
        arrays |= persist.spread("plan.units", plan.units)
    return {"plan": header, "asked": options}, arrays | adjacency_arrays(model.adjacency_)


def shapes_of_plan(members):
    """Return {name: shape} of a plan's arrays, by its number of methods."""
    bends, law = (2, 2, KNOTS), (3, 3, FEATURES)
    return {"shares": (KINDS, members), "bends": bends, "deviations": (KINDS + 1,), "law": law, "growth": (2,)}


def adjacency_arrays(adjacency):
    """Return {name: array} of an adjacency, csr (N, N)."""
    return {f"adjacency.{part}": np.asarray(getattr(adjacency, part), kind) for part, kind in PARTS.items()}


def unpack_plan(model, facts, arrays):
    """Restore the plan of a GraphImputer whose completed tensor is loaded.

    DataError or ParameterError for invalid contents.
    """
    header, model._fitted_options = facts.get("plan"), fitted.read(persist.entry_of(facts, "asked", dict))
    deviation = arrays["deviation"]
    trust.check_array("deviation", deviation, np.float64, model.completed_.shape)
    place = trust.first_wrong(lambda block: (block < 0) | np.isinf(block), deviation)
    if place is not None:
        raise DataError(f"deviation{list(place)} is {deviation[place]}; it is a number from 0 on, or NaN.")
    model.deviation_, model.plan_, model.adjacency_ = deviation, None, None
    if header is not None or "adjacency.data" in arrays:
        model.adjacency_ = read_adjacency(arrays, len(model.completed_))
    if header is not None:
        model.plan_ = read_plan(persist.entry_of(facts, "plan", dict), arrays, type(model))
    for name, value in attributes_of(model.plan_).items():
        setattr(model, name, value)


def read_adjacency(arrays, count):
    """Return the checked adjacency of a file."""
    from scipy import sparse

    data, indices, pointers = (arrays[f"adjacency.{part}"] for part in PARTS)
    trust.check_array("adjacency", data, PARTS["data"], (None,))
    trust.check_compressed("adjacency", pointers, indices, data, (count, count))
    return as_adjacency(sparse.csr_matrix((data, indices, pointers), (count, count)))


def read_plan(header, arrays, estimator):
    """Return the Plan in a file, for an estimator class."""
    members = [read_member(value, estimator) for value in persist.entry_of(header, "members", list)]
    shapes, most = shapes_of_plan(len(members)), {"shares": 2.0}
    parts = (read_finite(arrays, f"plan.{name}", shape, most.get(name, np.inf)) for name, shape in shapes.items())
    shares, bends, by_kind, law, growth = parts
    if growth[0] < 0 or not 0 <= growth[1] <= 1:
        raise DataError(f"plan.growth is {growth.tolist()}; it is a change from 0 on and a power from 0 to 1.")
    coverage = dict(check_pairs("coverage", persist.entry_of(header, "coverage", list)))
    rows = [read_row(value) for value in persist.entry_of(header, "rows", list)]
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
    if not all(isinstance(value, list) and len(value) == 2 for value in values):
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


def setting_of(name, stored, estimator):
    """Return the validated setting of a method; DataError or ParameterError if it is invalid.

    estimator: class that knows the bounds of the options.
    """
    if name == "spectral":
        return spectral.pack_setting(spectral_of(stored, estimator))
    rules = RULES.get(name, {})
    stored = {key: value for key, value in stored.items() if (name, key) not in OMITTED}
    if set(stored) != set(rules):
        raise DataError(f"the setting of {name} in its header is {stored!r:.80}.")
    return {key: rule(f"{key} of {name}", stored[key]) for key, rule in rules.items()}


def spectral_of(stored, estimator):
    """Return the spectral.run.Setting of a dict, with options."""
    if set(stored) != set(Setting._fields) or not isinstance(stored["options"], dict):
        raise DataError(f"{stored!r:.80} in its header is no setting.")
    setting = Setting(**stored)
    check_choice("weights", setting.weights, WEIGHTS)
    check_choice("center", setting.center, CENTERS)
    unlike = set(Options._fields) ^ set(setting.options)
    if unlike:
        raise DataError(f"{min(unlike)!r} of the options in its header is missing or unknown.")
    exponent = check_real("exponent", setting.exponent, 0.0)
    return setting._replace(exponent=exponent, options=estimator(**setting.options).check_options())


def check_positive(name, value, most=LARGEST):
    """Return a checked number above 0."""
    return check_real(name, value, 0.0, most, strict=True)


def check_bands(name, stored):
    """Check the bands of kriging: [[first column, rho, nu, tau]], first columns increasing from 0."""
    lists = stored if isinstance(stored, list) else []
    if not lists or not all(isinstance(value, list) and len(value) == 4 for value in lists):
        raise DataError(f"{name} in its header is {stored!r:.80}; it is a list of four numbers each.")
    largest = LARGEST, 100.0, LARGEST
    out = [
        [check_integer(name, first, 0), *(check_positive(name, *pair) for pair in zip(numbers, largest))]
        for first, *numbers in stored
    ]
    firsts = [first for first, *_ in out]
    if firsts[0] or any(value >= other for value, other in zip(firsts, firsts[1:])):
        raise DataError(f"{name} in its header begin at the columns {firsts!r:.80}, which do not rise from 0.")
    return out


def allow_none(rule):
    """Return a check that also accepts None."""
    return lambda name, value: None if value is None else rule(name, value)


def check_repeats(name, stored):
    """Check the weights of smoothness, one per further lag."""
    if not isinstance(stored, list) or len(stored) > 2:  # a period, and seven
        raise DataError(f"{name} in its header is {stored!r:.80}; it is a list of 2 numbers or fewer.")
    return [check_real(name, value, 0.0, LARGEST) for value in stored]


OMITTED = ("local", "share"), ("smoothness", "alike")  # settings of earlier versions
is_used = partial(check_integer, low=0, high=1)
at_least_0 = partial(check_real, low=0.0, high=LARGEST)
RULES = {
    "seasonal": {"lag": partial(check_integer, low=1, high=int(LARGEST)), "memory": allow_none(at_least_0)},
    "trend": {"level": allow_none(at_least_0), "slope": allow_none(at_least_0)},
    "kriging": {"bands": check_bands},
    "regularized-em": {"lags": is_used, "ridge": partial(check_positive, most=1.0)},
    "smoothness": {**dict.fromkeys(("near", "steady", "together"), check_positive), "repeats": check_repeats},
    "local": {"neighbors": partial(check_integer, low=1, high=MOST_SERIES)},
}
