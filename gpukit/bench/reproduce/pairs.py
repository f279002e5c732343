"""RankSVM (Jin and Lin 2014, section 4): Tables 1 to 3 and Fig. 1.

MQ2008 is the real one if GPUKIT_DATA has it; the other sets are generated with the shapes of Table 1. DCM and OST run
on the CPU, P-SWX on the device, all with plain conjugate gradients as in the paper; `gpukit` is the default.
"""

import time

import numpy as np

from gpukit.bench.measurement import Row, require_data
from gpukit.bench.ranking import EPS, MOST, PAPER, C, generate_documents, prepare_run, time_minimize
from gpukit.documents import read_letor
from gpukit.errors import DataError
from gpukit.ranking import RankSVM

SOLVERS = {"DCM": "dcm", "OST": "ost", "P-SWX": "p-swx", "gpukit": "auto"}
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


def read_inputs(conditions):
    """Yield (name, Documents, shape, 'real' or 'generated') of the sets of Table 1."""
    for name in conditions.select(tuple(reversed(TABLE_1))):
        documents = read_mq2008(conditions.data) if name == "mq2008" else None
        if documents is not None:
            yield name, documents, "MQ2008", "real"
            continue
        for _, shape, generated in conditions._replace(shapes=(name,)).generate(generate_documents, (name,)):
            yield name, generated, shape, "generated"


def read_mq2008(folder):
    """Return the Documents of MQ2008's first training set, None without the folder."""
    try:
        return read_letor(require_data(folder, "MQ2008/Fold1/train.txt"))
    except DataError:
        return None


def make_run(documents, solver, device):
    """Return the run.Run of a solver of SOLVERS."""
    device = "cpu" if solver in ("dcm", "ost") else device
    return prepare_run(documents, device, solver=solver, scale="none")


def table1(conditions):
    """Count documents, features, levels, queries and pairs."""
    for name, documents, *data in read_inputs(conditions):
        sizes = np.diff(documents.offsets)
        queries = np.split(documents.y, documents.offsets[1:-1])
        pairs = make_run(documents, "auto", conditions.device).n_pairs
        levels = max(len(np.unique(labels)) for labels in queries)
        values = (*documents.X.shape, levels, len(sizes), pairs, int(sizes.max()))
        for quantity, value, printed in zip(QUANTITIES, values, TABLE_1[name]):
            yield Row(f"Table 1 {quantity}", *data, [float(value)], "", f"the paper: {printed}")


def table2(conditions):
    """Time training to the paper's precision by each solver."""
    for name, documents, *data in read_inputs(conditions):
        for (solver, options), printed in zip(SOLVERS.items(), (*PAPER[name], None)):
            times, result = time_minimize(
                make_run(documents, options, conditions.device), precondition=solver == "gpukit"
            )
            note = f"{len(result.history)} Newton steps, f = {result.objective:.10g}; "
            note += "not in the paper" if printed is None else f"the paper: {printed} s"
            yield Row(f"Table 2 training by {solver}", *data, times, "s", note)


def table3(conditions):
    """Measure the pairwise accuracy on the training set by each solver."""
    for name, documents, *data in read_inputs(conditions):
        for (solver, options), printed in zip(SOLVERS.items(), (*TABLE_3[name], None)):
            model = make_model(solver, options, conditions.device).fit(documents)
            note = "not in the paper" if printed is None else f"the paper: {printed} %"
            yield Row(f"Table 3 accuracy of {solver}", *data, [100 * model.score(documents)], "%", note)


def make_model(solver, options, device, eps=EPS):
    """Return the unfitted RankSVM of a solver of SOLVERS."""
    device = "cpu" if options in ("dcm", "ost") else str(device).split()[0]
    settings = {"eps": eps, "max_iter": MOST, "scale": "none", "precondition": solver == "gpukit"}
    return RankSVM(C, solver=options, device=device, **settings)


def fig1(conditions):
    """Measure the relative difference to the optimum (Eq. 15) by second of training."""
    for _, documents, *data in read_inputs(conditions):
        optimum = make_model("gpukit", "auto", conditions.device, 1e-9).fit(documents).objective_
        for solver, options in SOLVERS.items():
            times, values = record_training(make_model(solver, options, conditions.device), documents)
            distances = np.abs(np.subtract(values, optimum)) / abs(optimum)
            note = "; ".join(f"{second:.4g} s {distance:.3g}" for second, distance in zip(times, distances))
            yield Row(f"Fig. 1 {solver}", *data, [float(distances[-1])], "eta", note)


def record_training(model, documents):
    """Return ([seconds], [objective]) after each Newton step; code is compiled before."""
    model.fit(documents)
    times, values, start = [], [], time.perf_counter()

    def listen(stage, done, total, info):
        if "f" in info:
            times.append(time.perf_counter() - start)
            values.append(info["f"])

    model.fit(documents, progress=listen)
    return [*times, time.perf_counter() - start], [*values, model.objective_]
