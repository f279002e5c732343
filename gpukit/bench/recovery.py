"""Benchmarks of the imputation's accuracy.

Generated tensors are compared with their truth, the paper's errors and the paper's algorithm. On METR-LA's roads and
Molene's weather stations (real), sensors, readings, or points and faults are hidden; the defaults are compared with
baselines and single methods at their best setting, chosen by the truth. The intervals are evaluated as well.
"""

import itertools
from typing import NamedTuple

import numpy as np

from gpukit.bench import imputation, shape_name
from gpukit.bench.measurement import QUANTILE, Row, absolute_error, crps, relative_error, require_data
from gpukit.bench.process import map_in_processes
from gpukit.errors import DataError
from gpukit.graphs import synth_graph
from gpukit.graphs.adjacency import as_adjacency, laplacian, normalized_adjacency, normalized_laplacian
from gpukit.imputation.auto.judging import finite_estimate
from gpukit.imputation.auto.plan import BY_NAME
from gpukit.imputation.estimator import GraphImputer

SEEDS = range(5)
METHODS = (  # that use time or what the sensors have in common
    *("interpolation", "akima", "seasonal", "kriging", "regularized-em", "local", "smoothness"),
    "vertex-median",
)
WEEK = (7, 288)  # days and readings a day of a METR-LA sensor
CONSTANTS = np.geomspace(0.2, 2.0, 25)  # candidates for the best constant deviation, relative to the RMS error
HIDDEN = {"sensors": "20 % of sensors", "readings": "20 % of readings", "blocks": "points and faults"}


def accuracy(conditions):
    """Measure relative errors on tensors generated as for the paper's Table 3."""
    case = imputation.SHAPES["ego-facebook"]
    vertices = max(2, round(conditions.scale * case.vertices))
    adjacency, data = imputation.make_graph("ego-facebook", conditions, vertices)
    shape = shape_name(f"ego-facebook {case.side}x{case.side}", conditions.scale)
    for missing, printed in imputation.TABLE_3.items():
        errors = [measure_error(adjacency, case, missing, seed, conditions.device) for seed in SEEDS]
        note = f"{list_seeds(errors)}; the paper's {printed:g}"
        what = f"{100 * missing:g} % missing: mean over seeds"
        yield Row(what, shape, data, [float(np.mean(errors))], "relative error", note)


def measure_error(adjacency, case, missing, seed, device):
    """Return the relative error of the defaults on one generated tensor with the slices of an imputation.Shape."""
    sides = case.side, case.side
    graph = synth_graph(adjacency=adjacency, shape=sides, rank=case.rank, missing=missing, seed=seed)
    model = GraphImputer(device=str(device).split()[0]).fit(adjacency, graph.tensor, graph.mask)
    return check_completed(model.completed_, graph)


def check_observed(completed, tensor, mask):
    """Raise DataError unless a completed tensor has the observed values."""
    if not np.array_equal(completed[mask], tensor[mask]):
        raise DataError("the benchmark's completed tensor differs from the observed values.")


def check_completed(completed, graph):
    """Return the relative error of a completed tensor; raise DataError unless it is below that of zeros."""
    check_observed(completed, graph.tensor, graph.mask)
    error, empty = (relative_error(array, graph.truth) for array in (completed, graph.tensor))
    if not error < empty:
        raise DataError(f"the benchmark's relative error is {error:.3g}, no less than with zeros, {empty:.3g}.")
    return error


def list_seeds(values):
    """Return the values as text for a note."""
    return "by seed " + " ".join(f"{value:.3g}" for value in values)


class Sensors(NamedTuple):
    """Complete series; values (N, m, n) float32; faults: shortest and longest, in readings."""

    name: str
    unit: str
    adjacency: object
    values: np.ndarray
    faults: tuple
    seeds: range


class Evaluation(NamedTuple):
    """Results on the hidden values.

    methods : {name: (mean absolute error, setting)}, the defaults first
    coverage : fraction within 90 % intervals
    crps : continuous ranked probability score, relative to that of the best constant deviation
    ranks (2, sensors) : mean deviation and mean error of each sensor with hidden values
    """

    methods: dict
    coverage: float
    crps: float
    ranks: np.ndarray


def read_metr_la(folder):
    """Read the Sensors of METR-LA: a week of each, a row a day."""
    path = require_data(folder, "metr-la")
    speeds = np.loadtxt(path / "speed.csv", delimiter=",", skiprows=1, dtype=np.float32)
    adjacency = as_adjacency(np.loadtxt(path / "adjacency.csv", delimiter=","))
    values = np.ascontiguousarray(speeds.T).reshape(len(speeds.T), *WEEK)
    name = "METR-LA " + "x".join(map(str, WEEK))
    return Sensors(name, "mph", adjacency, values, (12, 48), SEEDS)


def read_molene(folder):
    """Read the Sensors of Molene: hourly temperatures of weather stations."""
    path = require_data(folder, "molene")
    lines = [np.loadtxt(path / name, str, delimiter=",", skiprows=1) for name in ("temperature.csv", "adjacency.csv")]
    values, adjacency = (np.ascontiguousarray(part[:, 1:].astype(np.float32).T) for part in lines)
    return Sensors("Molene hourly", "kelvin", as_adjacency(adjacency), values[:, None], (24, 24), range(2 * len(SEEDS)))


def roads(conditions):
    """Measure errors on hidden values of METR-LA."""
    return sensor_benchmark(read_metr_la(conditions.data), conditions)


def stations(conditions):
    """Measure errors on hidden values of Molene."""
    return sensor_benchmark(read_molene(conditions.data), conditions)


def sensor_benchmark(sensors, conditions):
    """Yield the rows of errors and intervals for each kind of hidden values."""
    tasks = [(sensors, kind, seed, conditions.device) for kind in HIDDEN for seed in sensors.seeds]
    results = map_in_processes(evaluate_seed, tasks, conditions.workers)
    for kind in HIDDEN:
        evaluations = list(itertools.islice(results, len(sensors.seeds)))
        methods = [evaluation.methods for evaluation in evaluations]
        check_best(methods, kind)
        yield from method_rows(sensors, methods, kind)
        yield from interval_rows(sensors, evaluations, kind)


def hide(sensors, kind, seed):
    """Return a mask that hides 20 % of sensors (N,), random readings, or points and faults."""
    missing = 0.2
    points, faults = 0.05, 0.0015  # fractions of readings that are missing alone, and at which a fault begins
    shape, rng = sensors.values.shape, np.random.default_rng(seed)
    if kind == "sensors":
        mask = np.ones(shape[0], bool)
        mask[rng.permutation(shape[0])[: round(missing * shape[0])]] = False
        return mask
    if kind == "readings":
        return rng.random(shape) >= missing
    flat = (shape[0], int(np.prod(shape[1:])))
    mask, (shortest, longest) = rng.random(flat) >= points, sensors.faults
    for vertex, first in zip(*np.nonzero(rng.random(flat) < faults)):
        mask[vertex, first : first + rng.integers(shortest, longest + 1)] = False
    return mask.reshape(shape)


def evaluate_seed(sensors, kind, seed, device):
    """Return the Evaluation of a kind of hidden values and a seed."""
    return evaluate(sensors, hide(sensors, kind, seed), device)


def evaluate(sensors, mask, device):
    """Return the Evaluation of the defaults, single methods and baselines on the values that a mask hides."""
    tensor = np.where(broadcast_mask(mask, sensors.values), sensors.values, np.float32(0))
    model = GraphImputer(device=str(device).split()[0])
    run = model.prepare(sensors.adjacency, tensor, mask)
    model.fit(sensors.adjacency, tensor, mask)
    check_observed(model.completed_, tensor, mask)
    results = {"defaults": (absolute_error(model.completed_, sensors.values, mask), describe_choice(model))}
    problem = run.problem()
    for name in METHODS:
        if name in BY_NAME and BY_NAME[name].suits(problem):
            fields = (finite_estimate(BY_NAME[name], problem, setting) for setting in BY_NAME[name].settings(problem))
            results[name] = min(absolute_error(f.reshape(tensor.shape), sensors.values, mask) for f in fields), ""
    for name, setting, completed in baselines(sensors.adjacency, tensor, mask):
        error = absolute_error(completed, sensors.values, mask)
        if name not in results or error < results[name][0]:
            results[name] = error, setting
    return Evaluation(results, *evaluate_intervals(model, sensors.values, mask))


def baselines(adjacency, tensor, mask):
    """Yield (name, setting, completed tensor) of the last value, the mean, and two methods that smooth on the graph.

    These are Tikhonov regularization (Belkin, Matveeva, Niyogi 2004) and feature propagation (Rossi et al. 2021), of
    values less the mean of each column.
    """
    seen = broadcast_mask(mask, tensor).reshape(len(tensor), -1)
    values = np.where(seen, tensor.reshape(seen.shape), 0.0).astype(np.float64)
    mean = values.sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    rest = np.where(seen, values - mean, 0.0)
    if seen.any(axis=1).all():
        last = np.maximum.accumulate(np.where(seen, np.arange(seen.shape[1]), -1), axis=1)
        places = np.where(last < 0, seen.argmax(axis=1)[:, None], last)
        yield "last-value", "", np.take_along_axis(values, places, axis=1).reshape(tensor.shape)
    yield "vertex mean", "", np.broadcast_to(mean, values.shape).reshape(tensor.shape)
    weights = np.where(seen, 1.0, 1e-12)  # an isolated vertex has the mean
    for name, form in (("Tikhonov", laplacian), ("Tikhonov, normalized", normalized_laplacian)):
        L = form(adjacency).toarray()
        for tau in (10.0, 3.0, 1.0, 0.3, 0.1, 0.01):
            solved = [np.linalg.solve(np.diag(w) + tau * L, column) for w, column in zip(weights.T, rest.T)]
            yield name, f"tau {tau:g}", (np.transpose(solved) + mean).reshape(tensor.shape)
    step = normalized_adjacency(adjacency)
    for steps in (2, 5, 10, 40):
        x = rest
        for _ in range(steps):
            x = np.where(seen, rest, step @ x)
        yield "feature propagation", f"iterations {steps}", (x + mean).reshape(tensor.shape)


def broadcast_mask(mask, values):
    """Return a mask of the shape of values."""
    return np.broadcast_to(mask.reshape(mask.shape + (1,) * (values.ndim - mask.ndim)), values.shape)


def evaluate_intervals(model, truth, mask):
    """Return (coverage, crps, ranks) of an Evaluation."""
    hidden = ~broadcast_mask(mask, truth).reshape(len(truth), -1)
    errors, deviations = (
        part.reshape(hidden.shape).astype(np.float64) for part in (model.completed_ - truth, model.deviation_)
    )
    residuals, sizes = errors[hidden], deviations[hidden]
    constant = min(crps(residuals, share * np.sqrt(np.square(residuals).mean())) for share in CONSTANTS)
    rows = hidden.any(axis=1)
    means = [np.where(hidden, part, 0.0).sum(axis=1)[rows] for part in (deviations, np.abs(errors))]
    coverage = float((np.abs(residuals) <= QUANTILE * sizes).mean())
    return coverage, crps(residuals, sizes) / constant, np.array(means) / hidden.sum(axis=1)[rows]


def describe_choice(model):
    """Return the methods that the defaults combine, or the setting of the spectral method, as text."""
    if model.plan_ is not None:
        return "+".join(name for name, _ in model.plan_.members)
    law = f"{model.weights_} {model.exponent_:g}" if model.weights_ == "frequency" else model.weights_
    return f"spectral {law}, {model.center_}"


def check_best(methods, kind):
    """Raise DataError unless the defaults beat the mean over vertices, which uses no graph."""
    for seed, results in enumerate(methods):
        ours, mean = results["defaults"][0], results["vertex mean"][0]
        if not ours < mean:
            raise DataError(f"the benchmark's error on {kind} of seed {seed} is {ours:.3g}; the mean's is {mean:.3g}.")


def method_rows(sensors, methods, kind):
    """Yield the rows of errors by seed of each method that suits all seeds."""
    for name in (name for name in methods[0] if all(name in results for results in methods)):
        values, settings = zip(*(results[name] for results in methods), strict=True)
        label = name if name == "defaults" else f"{name}, best setting"
        chosen = f"; {'; '.join(dict.fromkeys(settings))}" if any(settings) else ""
        note = f"mean {np.mean(values):.4g}, {list_seeds(values)}{chosen}"
        note += count_wins(methods) if name == "defaults" else ""
        what, unit = f"{HIDDEN[kind]} missing: {label}", f"{sensors.unit}, mean absolute error"
        yield Row(what, sensors.name, "real", list(values), unit, note)


def count_wins(methods):
    """Return the note on the seeds on which the defaults beat every other method."""
    best = [min(error for key, (error, _) in results.items() if key != "defaults") for results in methods]
    ratios = [results["defaults"][0] / other for results, other in zip(methods, best)]
    wins = sum(ratio < 1 for ratio in ratios)
    return (
        f"; less than every other's on {wins} of {len(methods)} seeds, at most {max(ratios):.3f} times the best of them"
    )


def interval_rows(sensors, evaluations, kind):
    """Yield the rows of the coverage, the CRPS and the rank correlation of the deviations."""
    from scipy import stats

    parts = [
        ("90 % intervals", [evaluation.coverage for evaluation in evaluations], "share within"),
        ("deviations", [evaluation.crps for evaluation in evaluations], "CRPS, times the best constant's"),
    ]
    if kind == "sensors":
        pooled = stats.spearmanr(*np.concatenate([evaluation.ranks for evaluation in evaluations], axis=1)).statistic
        parts.append(("deviations by sensor", [abs(float(pooled))], "rank correlation with the error"))
    for name, values, unit in parts:
        note = f"mean {np.mean(values):.3f}, {list_seeds(values)}"
        yield Row(f"{HIDDEN[kind]} missing: {name}", sensors.name, "real", values, unit, note)
