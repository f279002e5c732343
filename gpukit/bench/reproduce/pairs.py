"""RankSVM (Jin and Lin 2014, section 4): Tables 1 to 3 and Fig. 1.

MQ2008 is the real one if GPUKIT_DATA has it; the other sets are generated with the shapes of Table 1. DCM and OST run
on the CPU, P-SWX on the device, all with plain conjugate gradients as in the paper; `gpukit` is the default.
"""

import functools
import time
from typing import NamedTuple

import numpy as np

from gpukit.bench.measurement import Row, require_data, seconds
from gpukit.bench.ranking import EPS, MOST, PAPER, C, check_solution, generate_documents, minimize
from gpukit.documents import read_letor
from gpukit.documents.table import take_queries
from gpukit.errors import DataError
from gpukit.ranking import RankSVM

SOLVERS = {"DCM": "dcm", "OST": "ost", "P-SWX": "p-swx", "gpukit": "auto"}
ON_CPU = "DCM", "OST"
TABLE_1 = {  # documents, features, levels of a query, queries, pairs, longest query
    "mq2007-list": (743_790, 46, 1268, 1017, 285_943_893, 1268),
    "mq2008-list": (540_679, 46, 1831, 471, 323_151_792, 1831),
    "mslr-web10k": (723_421, 136, 2, 6000, 31_783_391, 809),
    "mslr-web30k": (2_270_296, 136, 5, 18_919, 101_312_036, 1251),
    "mq2007": (42_158, 46, 2, 1017, 246_015, 147),
    "mq2008": (9_630, 46, 3, 471, 52_325, 121),
}
QUANTITIES = ("documents", "features", "levels of a query", "queries", "pairs", "longest query")
TABLE_3 = {  # pairwise accuracy in % of DCM, OST, P-SWX
    "mq2007-list": (81.11, 81.11, 81.11),
    "mq2008-list": (82.11, 82.11, 80.72),
    "mslr-web10k": (61.25, 61.04, 60.43),
    "mslr-web30k": (60.96, 60.79, 60.45),
    "mq2007": (70.59, 70.59, 70.60),
    "mq2008": (80.24, 80.24, 80.24),
}


class SolverTraining(NamedTuple):
    """[seconds] of trainings of documents on their device; [(second, objective)] and RankSVM of the last; accuracy."""

    times: list
    curve: list
    model: RankSVM
    accuracy: float


def read_documents(name, conditions):
    """Return (Documents, shape, 'real' or 'generated') of a set of Table 1."""
    if name == "mq2008":
        try:
            path = require_data(conditions.data, "MQ2008/Fold1/train.txt")
        except DataError:
            path = None
        if path is not None:
            return read_letor(path), "MQ2008", "real"
    ((_, shape, documents),) = conditions._replace(shapes=(name,)).generate(generate_documents, (name,))
    return documents, shape, "generated"


def read_inputs(conditions):
    """Yield (name, Documents, shape, 'real' or 'generated') of the sets of Table 1."""
    for name in conditions.select(tuple(reversed(TABLE_1))):
        yield name, *read_documents(name, conditions)


def train_sets(conditions):
    """Yield (name, solver, its SolverTraining, (shape, 'real' or 'generated')) of the sets of Table 1."""
    for name, _, *data in read_inputs(conditions):
        for solver in SOLVERS:
            yield name, solver, train(name, solver, conditions._replace(shapes=())), data


@functools.cache
def train(name, solver, conditions):
    """Return the SolverTraining of a solver of SOLVERS, which Tables 2 and 3 and Fig. 1 share.

    A few queries warm up a CPU. Long trainings are repeated less.
    """
    documents, *_ = read_documents(name, conditions)
    model, precondition = make_model(solver, conditions.device), solver == "gpukit"
    few = take_queries(documents, np.arange(min(50, len(documents.qids))))
    minimize(model.prepare(few), precondition)
    run, curve, results = model.prepare(documents), [], []

    def train_once():
        curve.clear()
        start = time.perf_counter()
        listen = lambda *news: curve.append((time.perf_counter() - start, news[-1]["f"]))  # noqa: E731
        results.append(minimize(run, precondition, progress=listen))

    is_cuda = run.device.is_cuda
    times = seconds(train_once, 5 if is_cuda else 3, warm_up=int(is_cuda), limit=5.0)
    check_solution(run.problem, results[-1])
    model.set_trained(run, C, results[-1])
    return SolverTraining(times, [*curve, (times[-1], model.objective_)], model, 100 * model.score(documents))


@functools.cache
def find_optimum(name, conditions):
    """Return the least objective of a set."""
    documents, *_ = read_documents(name, conditions)
    return make_model("gpukit", conditions.device, 1e-9).fit(documents).objective_


def make_model(solver, device, eps=EPS):
    """Return the unfitted RankSVM of a solver of SOLVERS."""
    device = "cpu" if solver in ON_CPU else str(device).split()[0]
    settings = {"eps": eps, "max_iter": MOST, "scale": "none", "precondition": solver == "gpukit"}
    return RankSVM(C, solver=SOLVERS[solver], device=device, **settings)


def place(solver):
    """Return a solver's name for rows with times, whose device is the one of the run."""
    return f"{solver} on the CPU" if solver in ON_CPU else solver


def printed_note(values, solver, unit):
    """Return the paper's value of a solver, one of (DCM, OST, P-SWX), as text."""
    printed = dict(zip(SOLVERS, values)).get(solver)
    return "not in the paper" if printed is None else f"the paper: {printed} {unit}"


def table1(conditions):
    """Count documents, features, levels, queries and pairs."""
    for name, documents, *data in read_inputs(conditions):
        sizes = np.diff(documents.offsets)
        queries = np.split(documents.y, documents.offsets[1:-1])
        pairs = make_model("gpukit", conditions.device).prepare(documents).n_pairs
        levels = max(len(np.unique(labels)) for labels in queries)
        values = (*documents.X.shape, levels, len(sizes), pairs, int(sizes.max()))
        for quantity, value, printed in zip(QUANTITIES, values, TABLE_1[name]):
            yield Row(f"Table 1 {quantity}", *data, [float(value)], "", f"the paper: {printed}")


def table2(conditions):
    """Time training to the paper's precision by each solver."""
    for name, solver, training, data in train_sets(conditions):
        note = f"{training.model.n_iter_} Newton steps, f = {training.model.objective_:.10g}; "
        note += printed_note(PAPER[name], solver, "s")
        yield Row(f"Table 2 training by {place(solver)}", *data, training.times, "s", note)


def table3(conditions):
    """Measure the pairwise accuracy on the training set by each solver."""
    for name, solver, training, data in train_sets(conditions):
        note = printed_note(TABLE_3[name], solver, "%")
        yield Row(f"Table 3 accuracy of {solver}", *data, [training.accuracy], "%", note)


def fig1(conditions):
    """Measure the relative difference to the optimum (Eq. 15) by second of training."""
    for name, solver, training, data in train_sets(conditions):
        optimum = find_optimum(name, conditions._replace(shapes=()))
        distances = [(second, abs(f - optimum) / abs(optimum)) for second, f in training.curve]
        note = "; ".join(f"{second:.4g} s {distance:.3g}" for second, distance in distances)
        yield Row(f"Fig. 1 {place(solver)}", *data, [distances[-1][1]], "eta", note)
