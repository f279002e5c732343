"""Benchmarks of learning to rank on MQ2008 (real), and of the CPU's solvers."""

import functools

import numpy as np

from gpukit.bench.checks import check_near, require_data
from gpukit.bench.ranking import EPS, SAME, C, generate_documents, paper_note
from gpukit.bench.record import Row
from gpukit.bench.timing import seconds
from gpukit.documents import find_folds, read_letor
from gpukit.errors import DataError
from gpukit.evaluation.ranking import evaluate
from gpukit.ranking import RankSVM
from gpukit.runtime import thread_count

OPTIMA = (
    (29566.522846, 0.802408, 0.827171),
    (26650.339392, 0.799747, 0.791401),
    (22576.419192, 0.823532, 0.747612),
    (24334.240528, 0.826386, 0.806814),
    (28285.101148, 0.807636, 0.804902),
)  # MQ2008, C=1, by fold: known minimum f*, pairwise accuracy (ties right) of train and test
METRICS = (
    ("test", "map"),
    ("test", "ndcg@10"),
    ("test", "mean_ndcg"),
    ("test", "pa"),
    ("test", "pa_ties"),
    ("train", "pa"),
    ("train", "pa_ties"),
)
SOLVERS = ("scan", "ost", "dcm", "p-swx")
TENTHS = ("mq2008-list", "mq2007-list", "mslr-web10k")


@functools.lru_cache(maxsize=1)
def mq2008_folds(folder):
    """Return [{part: Documents}] of MQ2008's five folds."""
    folds = find_folds(require_data(folder, "MQ2008"))
    return [{part: read_letor(getattr(fold, part)) for part in ("train", "vali", "test")} for fold in folds]


def accuracies(model, parts):
    """Return {(part, metric): value} of a fitted RankSVM by LETOR's definitions."""
    values = {part: evaluate(one.y, model.predict(one), one.offsets) for part, one in parts.items()}
    return {(part, metric): values[part][metric] for part, metric in METRICS}


def check_optima(models, scores):
    """Raise DataError unless objectives and accuracies at C=1 are the known ones."""
    near, near_pa = 1e-8, 1e-4  # relative error of f, too strict for features in float32; error of an accuracy
    for number, (model, values, (f, *known)) in enumerate(zip(models, scores, OPTIMA, strict=True), start=1):
        check_near(f"objective of fold {number}", model.objective_, f, near)
        result = values["train", "pa_ties"], values["test", "pa_ties"]
        if not np.abs(np.subtract(result, known)).max() <= near_pa:
            raise DataError(f"fold {number}: the benchmark's train and test accuracy are {result}, not {known}.")


def mq2008(conditions):
    """Time training, and measure the metrics of all folds for C=1."""
    folds = mq2008_folds(conditions.data)
    models = [RankSVM(C, eps=EPS, device=conditions.device).fit(parts["train"]) for parts in folds]
    scores = [accuracies(model, parts) for model, parts in zip(models, folds, strict=True)]
    check_optima(models, scores)
    times = seconds(lambda: models[0].fit(folds[0]["train"]), 9)
    note = (
        f"{models[0].solver_}, {models[0].n_iter_} Newton and {models[0].n_cg_} CG steps, f = "
        f"{models[0].objective_:.11g}, f* = {OPTIMA[0][0]}{paper_note('mq2008')}"
    )
    yield Row("the whole fit, fold 1, C=1 eps=1e-5", "MQ2008", "real", times, "s", note)
    yield from metric_rows(scores)


def metric_label(metric):
    """Return a metric's name for a row."""
    labels = {"map": "MAP", "mean_ndcg": "MeanNDCG", "pa": "PA", "pa_ties": "PA (ties right)"}
    return labels.get(metric, metric.upper())


def metric_rows(scores):
    """Yield rows of the means over folds of {(part, metric): value}."""
    for part, metric in METRICS:
        values = [fold[part, metric] for fold in scores]
        note = "by fold " + " ".join(f"{value:.6f}" for value in values)
        what, unit = f"{part} {metric_label(metric)}, C=1", f"mean of {len(values)} folds"
        yield Row(what, "MQ2008", "real", [float(np.mean(values))], unit, note)


def solvers(conditions):
    """Time fits of the CPU's solvers on one thread and on their choice; DCM and OST with plain CG as well."""
    if conditions.device.is_cuda:
        return
    tenth = conditions._replace(scale=0.1 * conditions.scale)
    for _, shape, documents in tenth.generate(generate_documents, TENTHS):
        yield from solver_rows(documents, shape, "generated")
    if conditions.select(("mq2008",)):
        yield from solver_rows(mq2008_folds(conditions.data)[0]["train"], "MQ2008 fold 1", "real")


def solver_rows(documents, shape, data):
    """Yield rows of each solver, which must agree on f."""
    cases = [(solver, True, threads) for threads in (1, None) for solver in SOLVERS]
    f = None
    for solver, precondition, threads in (*cases, ("dcm", False, 1), ("ost", False, 1)):
        times, model = time_fit(documents, solver, precondition, threads)
        f = model.objective_ if f is None else f
        check_near(f"objective by {solver}", model.objective_, f, SAME)
        kind = "threads as it chooses" if threads is None else f"{threads} thread"
        what = f"the whole fit by {solver}{'' if precondition else ' with plain CG'}, {kind}"
        note = f"{len(documents.y):,} x {documents.X.shape[1]}, {model.n_pairs_:,} pairs; "
        note += f"{model.n_iter_} Newton and {model.n_cg_} CG steps"
        yield Row(what, shape, data, times, "s", note)


def time_fit(documents, solver, precondition, threads):
    """Return ([seconds], the model) of fits on the CPU."""
    model = RankSVM(C, eps=EPS, solver=solver, precondition=precondition, device="cpu")
    with thread_count.limited(threads):
        return seconds(lambda: model.fit(documents), 5), model
