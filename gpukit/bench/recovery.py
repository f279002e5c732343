"""Benchmarks of the imputation's accuracy. Each is a function of Conditions that yields record.Rows.

Generated tensors with a known truth beside the paper's figures and the paper's own algorithm; METR-LA's roads and
Molene's weather stations (real), some of them, of their readings, or points and faults hidden on purpose, beside
baselines and methods at the setting that is best for each with the truth known; and what intervals are worth.
"""

import itertools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpukit.bench.conditions import shape_name
from gpukit.bench.imputation import PAPERS_OWN, graph_of
from gpukit.bench.process import shared_out
from gpukit.bench.record import Row
from gpukit.errors import DataError
from gpukit.graphs import synth_graph
from gpukit.graphs.adjacency import as_adjacency
from gpukit.imputation.auto.judging import filled
from gpukit.imputation.auto.methods import BY_NAME
from gpukit.imputation.baselines.smoothing import all_baselines
from gpukit.imputation.estimator import GraphImputer
from gpukit.imputation.spectral.confidence import missing_shares, slice_scores
from gpukit.imputation.spectral.run import Setting as Law
from gpukit.imputation.spectral.run import impute

SEEDS = range(5)
UNSEEN = 0.5  # of a spectral slice's mass on missing vertices: nothing observed determines it
MISSING = 0.2
ALONE = (  # methods that know time, or what the sensors have in common
    *("interpolation", "akima", "last-value", "seasonal", "kriging", "regularized-em", "local", "smoothness"),
    "vertex-median",
)
WEEK = (7, 288)  # days and readings a day of a sensor of METR-LA
POINTS, FAULTS = 0.05, 0.0015  # shares of readings that miss by themselves, and that a fault begins at
WIDE = 1.6448536  # deviations on either side that hold 90 % of a normal distribution
CONSTANTS = np.geomspace(0.2, 2.0, 25)  # of the root mean square, among which is the best constant deviation
HIDDEN = {"sensors": "20 % of sensors", "readings": "20 % of readings", "blocks": "points and faults"}


class Family(NamedTuple):
    """vertices, side and rank of the slices; papers: {share missing: the paper's relative error}."""

    vertices: int
    side: int
    rank: int
    papers: dict


FAMILIES = {
    "ego-facebook": Family(4039, 50, 5, {0.1: 0.001, 0.2: 0.008, 0.3: 0.018, 0.4: 0.032, 0.5: 0.038}),  # Table 3
    "random": Family(400, 32, 3, {0.2: 1e-5}),  # Figure 9 gives the order alone
}


class Errors(NamedTuple):
    """Relative errors on the whole tensor: by default, without the slices that nothing determines, of the paper's
    algorithm; unseen: how many slices those are."""

    ours: float
    seen: float
    paper: float
    unseen: int


def accuracy(conditions):
    """Relative error of defaults, and of the paper's algorithm, on tensors generated as the paper says."""
    for like in conditions.among(tuple(FAMILIES)):
        family = FAMILIES[like]
        adjacency, data = graph_of(like, conditions, max(2, round(conditions.scale * family.vertices)))
        shape = shape_name(f"{like} {family.side}x{family.side}", conditions.scale)
        for missing, paper in family.papers.items():
            found = [errors(adjacency, family, missing, seed, conditions.device) for seed in SEEDS]
            yield from error_rows(found, missing, paper if conditions.scale == 1 else None, (shape, data))


def errors(adjacency, family, missing, seed, device):
    """Errors on one generated tensor."""
    graph = synth_graph(
        adjacency=adjacency, shape=(family.side, family.side), rank=family.rank, missing=missing, seed=seed
    )
    model = GraphImputer(device=str(device).split()[0]).fit(adjacency, graph.tensor, graph.mask)
    ours = check_completed(model.completed_, graph)
    own = impute(model.place_, Law("slice", 1.0, "none", PAPERS_OWN), graph.tensor, graph.mask)
    scores = slice_scores(model.basis_, missing_shares(graph.mask))
    truth = graph.truth[~graph.mask]
    paper = size(own.estimate - truth) / size(graph.truth)
    return Errors(ours, determined(model, graph, scores <= UNSEEN), paper, int((scores > UNSEEN).sum()))


def size(array):
    """The square root of an array's sum of squares."""
    return float(np.linalg.norm(array.ravel()))


def check_completed(completed, graph):
    """The relative error of a completed tensor; DataError unless it kept what is observed and recovered something."""
    if not np.array_equal(completed[graph.mask], graph.tensor[graph.mask]):
        raise DataError("the benchmark's completed tensor is not the observed one where that is observed.")
    error, empty = (size(array - graph.truth) / size(graph.truth) for array in (completed, graph.tensor))
    if not error < empty:
        raise DataError(f"the benchmark's relative error is {error:.3g}, no less than with zeros, {empty:.3g}.")
    return error


def determined(model, graph, kept):
    """The relative error in the spectral slices that are kept."""
    rows = ~graph.mask
    error = (model.completed_[rows] - graph.truth[rows]).reshape(int(rows.sum()), -1)
    return size(model.basis_.vectors[rows][:, kept].astype(error.dtype).T @ error) / size(graph.truth)


def error_rows(found, missing, paper, where):
    """Rows of Errors by seed: the mean by default, and the seeds of every kind."""
    share = f"{100 * missing:g} % missing"
    beside = "" if paper is None else f"; the paper's {paper:g}"
    ours = [one.ours for one in found]
    yield Row(f"{share}: mean over seeds", *where, [float(np.mean(ours))], "relative error", by_seed(ours) + beside)
    unseen = " ".join(str(one.unseen) for one in found)
    kinds = (
        ("defaults", ours, beside),
        ("defaults, slices that are determined", [one.seen for one in found], f"; without {unseen} slices by seed"),
        ("the paper's algorithm", [one.paper for one in found], f"; 20 plain steps, decay {PAPERS_OWN.decay}{beside}"),
    )
    for name, values, note in kinds:
        yield Row(f"{share}: {name}", *where, values, "relative error", f"mean {np.mean(values):.3g}{note}")


def by_seed(values):
    """The values for a note."""
    return "by seed " + " ".join(f"{value:.3g}" for value in values)


class Sensors(NamedTuple):
    """Series that are all known. name, unit; adjacency; values (N, m, n) float32; faults: the shortest and
    the longest, in readings; seeds."""

    name: str
    unit: str
    adjacency: object
    values: np.ndarray
    faults: tuple
    seeds: range


class Judged(NamedTuple):
    """methods: {name: (mean absolute error, setting)} on what is hidden, the defaults first; coverage: the share of it
    within 90 % intervals; crps: its continuous ranked probability score over that of the best constant deviation;
    ranks (2, sensors): mean deviation and mean error of each sensor with hidden values."""

    methods: dict
    coverage: float
    crps: float
    ranks: np.ndarray


def metr_la(folder):
    """Sensors of METR-LA: the week of a sensor, a row a day."""
    path = found_below(folder, "metr-la", ("speed.csv", "adjacency.csv"))
    speeds = np.loadtxt(path / "speed.csv", delimiter=",", skiprows=1, dtype=np.float32)
    adjacency = as_adjacency(np.loadtxt(path / "adjacency.csv", delimiter=","))
    values = np.ascontiguousarray(speeds.T).reshape(len(speeds.T), *WEEK)
    name = "METR-LA " + "x".join(map(str, WEEK))
    return Sensors(name, "mph", adjacency, values, (12, 48), SEEDS)


def molene(folder):
    """Sensors of Molene: hourly temperatures of weather stations, as a table has them."""
    path = found_below(folder, "molene", ("temperature.csv", "adjacency.csv"))
    lines = [np.loadtxt(path / name, str, delimiter=",", skiprows=1) for name in ("temperature.csv", "adjacency.csv")]
    values, adjacency = (np.ascontiguousarray(part[:, 1:].astype(np.float32).T) for part in lines)
    return Sensors("Molene hourly", "kelvin", as_adjacency(adjacency), values[:, None], (24, 24), range(2 * len(SEEDS)))


def found_below(folder, name, files):
    """The path of a real set's folder; DataError where it is not there."""
    path = Path(folder or "") / name
    if folder is None or not path.exists():
        there = " and ".join(files)
        raise DataError(f"{name} is needed: set GPUKIT_DATA to the folder that holds {name}/ with {there}.")
    return path


def roads(conditions):
    """METR-LA, some of it hidden."""
    return hidden_of(metr_la(conditions.data), conditions)


def stations(conditions):
    """Molene's temperatures, some of them hidden."""
    return hidden_of(molene(conditions.data), conditions)


def hidden_of(sensors, conditions):
    """Rows of errors on hidden sensors, readings, and points and faults, and of what the intervals are worth."""
    tasks = [(sensors, what, seed, conditions.device) for what in HIDDEN for seed in sensors.seeds]
    each = shared_out(judged_of, tasks, conditions.workers)
    for what in HIDDEN:
        found = list(itertools.islice(each, len(sensors.seeds)))
        check_best([one.methods for one in found], what)
        yield from sensor_rows(sensors, [one.methods for one in found], what)
        yield from interval_rows(sensors, found, what)


def hide(sensors, what, seed):
    """A mask that misses a fifth of sensors exactly (N,), of readings by chance, or points and faults."""
    shape, rng = sensors.values.shape, np.random.default_rng(seed)
    if what == "sensors":
        mask = np.ones(shape[0], bool)
        mask[rng.permutation(shape[0])[: round(MISSING * shape[0])]] = False
        return mask
    if what == "readings":
        return rng.random(shape) >= MISSING
    flat = (shape[0], int(np.prod(shape[1:])))
    mask, (least, most) = rng.random(flat) >= POINTS, sensors.faults
    for vertex, first in zip(*np.nonzero(rng.random(flat) < FAULTS)):
        mask[vertex, first : first + rng.integers(least, most + 1)] = False
    return mask.reshape(shape)


def judged_of(sensors, what, seed, device):
    """Judged where `what` is hidden by a seed."""
    return judged(sensors, hide(sensors, what, seed), device)


def judged(sensors, mask, device):
    """Judged of the defaults, the methods by themselves and the baselines, on what a mask hides."""
    tensor = np.where(wide(mask, sensors.values), sensors.values, np.float32(0))
    model = GraphImputer(device=str(device).split()[0])
    run = model.prepare(sensors.adjacency, tensor, mask)
    model.fit(sensors.adjacency, tensor, mask)
    if not np.array_equal(model.completed_[mask], tensor[mask]):
        raise DataError("the benchmark's completed tensor is not the observed one where that is observed.")
    found = {"defaults": (absolute(model.completed_, sensors.values, mask), served(model))}
    problem = run.problem()
    for name in ALONE:
        if name in BY_NAME and BY_NAME[name].suits(problem):
            tried = [(filled(BY_NAME[name], problem, how), how) for how in BY_NAME[name].settings(problem)]
            tried = [(absolute(field.reshape(tensor.shape), sensors.values, mask), how) for field, how in tried]
            found[name] = min(tried, key=lambda one: one[0])[0], ""
    for name, how, completed in all_baselines(sensors.adjacency, tensor, mask):
        error = absolute(completed, sensors.values, mask)
        if name not in found or error < found[name][0]:
            told = " ".join(f"{key} {value if key == 'center' else format(value, 'g')}" for key, value in how.items())
            found[name] = error, told
    return Judged(found, *worth(model, sensors.values, mask))


def wide(mask, values):
    """A mask of the shape of values."""
    return np.broadcast_to(mask.reshape(mask.shape + (1,) * (values.ndim - mask.ndim)), values.shape)


def worth(model, truth, mask):
    """(coverage, crps, ranks) of Judged."""
    hidden = ~wide(mask, truth).reshape(len(truth), -1)
    errors, deviations = (
        part.reshape(hidden.shape).astype(np.float64) for part in (model.completed_ - truth, model.deviation_)
    )
    residuals, sizes = errors[hidden], deviations[hidden]
    constant = min(crps(residuals, share * np.sqrt(np.square(residuals).mean())) for share in CONSTANTS)
    some = hidden.any(axis=1)
    means = [np.where(hidden, part, 0.0).sum(axis=1)[some] for part in (deviations, np.abs(errors))]
    covered = float((np.abs(residuals) <= WIDE * sizes).mean())
    return covered, crps(residuals, sizes) / constant, np.array(means) / hidden.sum(axis=1)[some]


def crps(residuals, deviations):
    """The mean continuous ranked probability score of normal distributions (Gneiting and Raftery, JASA 102, 2007)."""
    from scipy import special

    z = residuals / np.maximum(deviations, 1e-12)
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    return float((deviations * (z * special.erf(z / np.sqrt(2)) + 2 * density - 1 / np.sqrt(np.pi))).mean())


def served(model):
    """What the defaults took: the methods of their mean, or how the spectral one went."""
    if model.plan_ is not None:
        return "+".join(name for name, _ in model.plan_.members)
    law = f"{model.weights_} {model.exponent_:g}" if model.weights_ == "frequency" else model.weights_
    return f"spectral {law}, {model.center_}"


def absolute(completed, truth, mask):
    """The mean absolute error where a mask misses."""
    return float(np.abs(completed - truth)[~mask].mean(dtype=np.float64))


def check_best(found, what):
    """Raise DataError unless the defaults beat the mean over vertices, which knows no graph."""
    for seed, errors_of in enumerate(found):
        ours, mean = errors_of["defaults"][0], errors_of["vertex mean"][0]
        if not ours < mean:
            raise DataError(f"the benchmark's error on {what} of seed {seed} is {ours:.3g}; the mean's is {mean:.3g}.")


def sensor_rows(sensors, found, what):
    """Rows of the errors by seed of every method that suits all of them."""
    for name in (name for name in found[0] if all(name in errors_of for errors_of in found)):
        values, how = zip(*(errors_of[name] for errors_of in found), strict=True)
        label = name if name == "defaults" else f"{name}, best setting"
        chosen = f"; {'; '.join(dict.fromkeys(how))}" if any(how) else ""
        yield Row(
            f"{HIDDEN[what]} missing: {label}",
            sensors.name,
            "real",
            list(values),
            f"{sensors.unit}, mean absolute error",
            f"mean {np.mean(values):.4g}, {by_seed(values)}{chosen}{wins(found, name)}",
        )


def wins(found, name):
    """On how many seeds the defaults beat every other method, and the worst that they are beside the best of them, for
    the note of their row."""
    if name != "defaults":
        return ""
    others = [min(error for key, (error, _) in errors_of.items() if key != name) for errors_of in found]
    ratios = [errors_of[name][0] / other for errors_of, other in zip(found, others)]
    return (
        f"; less than every other's on {sum(ratio < 1 for ratio in ratios)} of {len(found)} seeds, at most "
        f"{max(ratios):.3f} times the best of them"
    )


def interval_rows(sensors, found, what):
    """Rows of what the deviations are worth."""
    from scipy import stats

    parts = [
        ("90 % intervals", [one.coverage for one in found], "share within"),
        ("deviations", [one.crps for one in found], "CRPS, times the best constant's"),
    ]
    if what == "sensors":
        pooled = stats.spearmanr(*np.concatenate([one.ranks for one in found], axis=1)).statistic
        parts.append(("deviations by sensor", [abs(float(pooled))], "rank correlation with the error"))
    for name, values, unit in parts:
        note = f"mean {np.mean(values):.3f}, {by_seed(values)}"
        yield Row(f"{HIDDEN[what]} missing: {name}", sensors.name, "real", values, unit, note)


BENCHES = {"impute-accuracy": accuracy, "impute-metr-la": roads, "impute-molene": stations}
