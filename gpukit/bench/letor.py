"""Benchmarks of learning to rank on MQ2008, of the CPU's solvers, of reading. Each is a function of Conditions."""

import functools
import tempfile
from pathlib import Path

import numpy as np

from gpukit.bench.conditions import shape_name
from gpukit.bench.process import command_seconds, read_in_processes
from gpukit.bench.ranking import EPS, GRID, SAME, C, generated, paper
from gpukit.bench.record import Row
from gpukit.bench.timing import seconds
from gpukit.documents import find_folds, read_letor, synth_letor, write_letor
from gpukit.documents.table import take_queries
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
)  # MQ2008, C=1, a fold each: f* and pairwise accuracy (ties right), train and test: the known minima
NEAR, NEAR_PA = 1e-8, 1e-4  # relative, which features in float32 would miss; of an accuracy
CHOSEN_BY = ("ndcg@10", "map", "pa")
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
TEXT = 0.35  # of mslr-web10k: some 320 MB of text


@functools.lru_cache(maxsize=1)
def mq2008_folds(folder):
    """[{part: Documents}] of MQ2008's five folds."""
    if folder is None:
        raise DataError("MQ2008 is needed: set GPUKIT_DATA to the folder that holds MQ2008/Fold1 to Fold5.")
    folds = find_folds(Path(folder) / "MQ2008")
    return [{part: read_letor(getattr(fold, part)) for part in ("train", "vali", "test")} for fold in folds]


def accuracies(model, parts):
    """{(part, metric): value} of a fitted RankSVM, in LETOR's scoring."""
    found = {part: evaluate(one.y, model.predict(one), one.offsets) for part, one in parts.items()}
    return {(part, metric): found[part][metric] for part, metric in METRICS}


def check_optima(models, scores):
    """Raise DataError unless objectives and accuracies at C=1 are the known ones."""
    for number, (model, found, (f, *known)) in enumerate(zip(models, scores, OPTIMA, strict=True), start=1):
        if not abs(model.objective_ - f) <= NEAR * f:
            raise DataError(f"fold {number}: the benchmark's f is {model.objective_!r}, the optimum {f}.")
        got = found["train", "pa_ties"], found["test", "pa_ties"]
        if not np.abs(np.subtract(got, known)).max() <= NEAR_PA:
            raise DataError(f"fold {number}: the benchmark's train and test accuracy are {got}, not {known}.")


def mq2008(conditions):
    """Real data: seconds of training, metrics of all folds, for C=1 and for C chosen on the validation sets."""
    folds = mq2008_folds(conditions.data)
    models = [RankSVM(C, eps=EPS, device=conditions.device).fit(parts["train"]) for parts in folds]
    scores = [accuracies(model, parts) for model, parts in zip(models, folds, strict=True)]
    check_optima(models, scores)
    times = seconds(lambda: models[0].fit(folds[0]["train"]), 9)
    note = (
        f"{models[0].solver_}, {models[0].n_iter_} Newton and {models[0].n_cg_} CG steps, f = "
        f"{models[0].objective_:.11g}, f* = {OPTIMA[0][0]}{paper('mq2008')}"
    )
    yield Row("the whole fit, fold 1, C=1 eps=1e-5", "MQ2008", "real", times, "s", note)
    yield from metric_rows(scores, "C=1")
    for metric in CHOSEN_BY:
        models = [
            RankSVM(eps=EPS, device=conditions.device).fit_path(parts["train"], parts["vali"], grid=GRID, metric=metric)
            for parts in folds
        ]
        yield path_row(models, metric)
        scores = [accuracies(model, parts) for model, parts in zip(models, folds, strict=True)]
        yield from metric_rows(scores, f"C by {spelled(metric)} on validation")


def spelled(metric):
    """A metric's name as people write it."""
    words = {"map": "MAP", "mean_ndcg": "MeanNDCG", "pa": "PA", "pa_ties": "PA (ties right)"}
    return words.get(metric, metric.upper())


def metric_rows(scores, how):
    """Rows of the means over folds of {(part, metric): value}."""
    for part, metric in METRICS:
        values = [found[part, metric] for found in scores]
        note = "by fold " + " ".join(f"{value:.6f}" for value in values)
        yield Row(
            f"{part} {spelled(metric)}, {how}",
            "MQ2008",
            "real",
            [float(np.mean(values))],
            f"mean of {len(values)} folds",
            note,
        )


def path_row(models, metric):
    """Row of the seconds that each fold's path took, scores on the validation set apart."""
    times = [sum(model.timings_.values()) for model in models]
    chosen = " ".join(f"2^{np.log2(model.C_):g}" for model in models)
    what = f"training of a fold for {len(models[0].path_)} C, chosen by {spelled(metric)}"
    return Row(what, "MQ2008", "real", times, "s", f"chosen by fold: {chosen}")


def solvers(conditions):
    """The CPU's solvers: whole fits on one thread and on as many as they choose; DCM and OST with plain CG too."""
    if conditions.device.is_cuda:
        return
    for like in conditions.among(TENTHS):
        scale = 0.1 * conditions.scale
        yield from solver_rows(generated(like, scale), shape_name(like, scale), "generated")
    if conditions.among(("mq2008",)):
        yield from solver_rows(mq2008_folds(conditions.data)[0]["train"], "MQ2008 fold 1", "real")


def solver_rows(documents, shape, data):
    """Rows of every solver, which must agree on f."""
    cases = [(solver, True, threads) for threads in (1, None) for solver in SOLVERS]
    objectives = []
    for solver, precondition, threads in (*cases, ("dcm", False, 1), ("ost", False, 1)):
        times, model = timed_fit(documents, solver, precondition, threads)
        objectives.append(model.objective_)
        check_agreement(objectives, solver)
        kind = "threads as it chooses" if threads is None else f"{threads} thread"
        note = (
            f"{len(documents.y):,} x {documents.X.shape[1]}, {model.n_pairs_:,} pairs; {model.n_iter_} Newton and "
            f"{model.n_cg_} CG steps"
        )
        yield Row(
            f"the whole fit by {solver}{'' if precondition else ' with plain CG'}, {kind}",
            shape,
            data,
            times,
            "s",
            note,
        )


def timed_fit(documents, solver, precondition, threads):
    """([seconds], the model) of fits on the CPU."""
    model = RankSVM(C, eps=EPS, solver=solver, precondition=precondition, device="cpu")
    with thread_count.limited(threads):
        return seconds(lambda: model.fit(documents), 5), model


def check_agreement(objectives, solver):
    """Raise DataError unless the last of the objectives is the first one."""
    if not abs(objectives[-1] - objectives[0]) <= SAME * objectives[0]:
        raise DataError(f"the benchmark's {solver} ends at f = {objectives[-1]!r}, {SOLVERS[0]} at {objectives[0]!r}.")


def letor(conditions):
    """Reading documents in fresh processes whose code is compiled, and the whole command on MQ2008."""
    scale = TEXT * conditions.scale
    documents = synth_letor("mslr-web10k", scale, 0)
    few = take_queries(documents, np.arange(min(3, len(documents.qids))))
    with tempfile.TemporaryDirectory() as folder:
        for suffix, kind in ((".txt", "LETOR text"), (".gkl", "a binary copy (.gkl)")):
            big, small = Path(folder) / f"big{suffix}", Path(folder) / f"small{suffix}"
            write_letor(documents, big)
            write_letor(few, small)
            yield from reading_rows(documents, big, small, kind, shape_name("mslr-web10k", scale))
    yield command_row(conditions)


def reading_rows(documents, big, small, kind, shape):
    """Rows of a file's reading: megabytes a second and memory."""
    figures = "found.X.nbytes + found.y.nbytes, len(found.y), found.X.astype('f4').sum(dtype='f8')"
    read = read_in_processes("from gpukit import read_letor as read", figures, big, small)
    arrays, *found = read.figures
    if found != [len(documents.y), documents.X.sum(dtype="f8")]:
        raise DataError(f"the file {big.name} was not read back as it was written.")
    megabytes = big.stat().st_size / 1e6
    note = f"{megabytes:.0f} MB in {np.median(read.seconds):.3f} s, from the page cache"
    yield Row(f"reading {kind}", shape, "generated", [megabytes / s for s in read.seconds], "MB/s", note)
    yield Row(
        f"memory of reading {kind}",
        shape,
        "generated",
        [peak / arrays for peak in read.peaks],
        "times the arrays",
        "peak above the start",
    )


def command_row(conditions):
    """Row of the whole `gpukit ranksvm MQ2008`: five folds read, trained, evaluated."""
    folds = len(mq2008_folds(conditions.data))
    samples = command_seconds(["ranksvm", str(Path(conditions.data) / "MQ2008"), "--c", "1"], conditions.device)
    return Row(
        "the whole command ranksvm, cached",
        "MQ2008",
        "real",
        samples,
        "s",
        f"start to table, {folds} folds read, trained and evaluated",
    )


BENCHES = {"mq2008": mq2008, "solvers": solvers, "letor": letor}
