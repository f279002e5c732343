"""Benchmarks of the imputation's accuracy. Each is a function of Conditions that yields record.Rows.

Generated tensors with a known truth beside the paper's figures and the paper's own algorithm; METR-LA's sensors (real),
some hidden on purpose, beside every baseline at the setting that is best for it with the truth known.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpukit.bench.conditions import shape_name
from gpukit.bench.imputation import PAPERS_OWN, graph_of
from gpukit.bench.record import Row
from gpukit.errors import DataError
from gpukit.graphs import synth_graph
from gpukit.graphs.adjacency import as_adjacency
from gpukit.imputation.baselines.smoothing import all_baselines
from gpukit.imputation.centering import spread
from gpukit.imputation.estimator import GraphImputer
from gpukit.imputation.spectral.confidence import slice_scores
from gpukit.imputation.spectral.run import Setting as Law
from gpukit.imputation.spectral.run import impute

SEEDS = range(5)
UNSEEN = 0.5  # of a spectral slice's mass on missing vertices: nothing observed determines it
MISSING = 0.2
IN_TIME = ("interpolation", "last-value")  # methods that know time, as one line of numpy or pandas would
WEEK = (7, 288)  # days and readings a day of a sensor


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
    scores = slice_scores(model.basis_, graph.mask)
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


class Roads(NamedTuple):
    """adjacency; speeds (N, m, n) float32, all of them known."""

    adjacency: object
    speeds: np.ndarray


def metr_la(folder):
    """Roads of METR-LA: a sensor's week, a row a day."""
    path = Path(folder or "") / "metr-la"
    if folder is None or not path.exists():
        raise DataError(
            "METR-LA is needed: set GPUKIT_DATA to the folder that holds metr-la/speed.csv and adjacency.csv."
        )
    speeds = np.loadtxt(path / "speed.csv", delimiter=",", skiprows=1, dtype=np.float32)
    adjacency = as_adjacency(np.loadtxt(path / "adjacency.csv", delimiter=","))
    return Roads(adjacency, np.ascontiguousarray(speeds.T).reshape(len(speeds.T), *WEEK))


def sensors(conditions):
    """Mean absolute error on hidden sensors, and on hidden readings, of the defaults and of every baseline."""
    roads = metr_la(conditions.data)
    for what, shape in (("sensors", roads.speeds.shape[:1]), ("readings", roads.speeds.shape)):
        found = [hidden_errors(roads, hide(shape, seed), conditions.device) for seed in SEEDS]
        check_best(found, what)
        yield from sensor_rows(found, what)


def hide(shape, seed):
    """A mask that misses a fifth: of sensors exactly, of readings by chance."""
    rng = np.random.default_rng(seed)
    if len(shape) > 1:
        return rng.random(shape) >= MISSING
    mask = np.ones(shape, bool)
    mask[rng.permutation(shape[0])[: round(MISSING * shape[0])]] = False
    return mask


def hidden_errors(roads, mask, device):
    """({name: (mean absolute error, setting)}, the defaults first) on what a mask hides."""
    tensor = np.where(spread(mask), roads.speeds, np.float32(0))
    model = GraphImputer(device=str(device).split()[0]).fit(roads.adjacency, tensor, mask)
    if not np.array_equal(model.completed_[mask], tensor[mask]):
        raise DataError("the benchmark's completed tensor is not the observed one where that is observed.")
    found = {"defaults": (absolute(model.completed_, roads.speeds, mask), served(model))}
    for name in IN_TIME:
        alone = GraphImputer(method=name, device="cpu").fit(roads.adjacency, tensor, mask)
        found[name] = absolute(alone.completed_, roads.speeds, mask), ""
    for name, how, completed in all_baselines(roads.adjacency, tensor, mask):
        error = absolute(completed, roads.speeds, mask)
        if name not in found or error < found[name][0]:
            found[name] = (
                error,
                " ".join(f"{key} {value if key == 'center' else format(value, 'g')}" for key, value in how.items()),
            )
    return found


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
    for seed, errors_of in zip(SEEDS, found, strict=True):
        ours, mean = errors_of["defaults"][0], errors_of["vertex mean"][0]
        if not ours < mean:
            raise DataError(f"the benchmark's error on {what} of seed {seed} is {ours:.3g}; the mean's is {mean:.3g}.")


def sensor_rows(found, what):
    """Rows of every method's errors by seed."""
    for name in found[0]:
        values, how = zip(*(errors_of[name] for errors_of in found), strict=True)
        label = name if name == "defaults" else f"{name}, best setting"
        chosen = f"; {'; '.join(dict.fromkeys(how))}" if any(how) else ""
        yield Row(
            f"20 % of {what} missing: {label}",
            "METR-LA 7x288",
            "real",
            list(values),
            "mph, mean absolute error",
            f"mean {np.mean(values):.3f}, {by_seed(values)}{chosen}{wins(found, name)}",
        )


def wins(found, name):
    """On how many seeds the defaults beat every other method, for the note of their row."""
    if name != "defaults":
        return ""
    best = sum(min(errors_of, key=lambda key: errors_of[key][0]) == name for errors_of in found)
    return f"; less than every baseline's on {best} of {len(found)} seeds"


BENCHES = {"impute-accuracy": accuracy, "impute-metr-la": sensors}
