"""Benchmarks of linear RankSVM on generated documents, of its CPU solvers, and of trees.

Results are checked on the CPU by an order-statistic tree, which shares neither the level tree nor the fused pass.

RankSVM is compared with LightGBM's and XGBoost's trees (extra 'bench'). All methods get the same training and
validation queries. The trees have their default parameters and stop early by NDCG@10 of the validation queries, on
which RankSVM chooses its settings.

Jin and Lin 2014, section 4: Tables 1 to 3 and Fig. 1. MQ2008 is the real one if GPUKIT_DATA has it; the other sets are
generated with the shapes of Table 1. DCM and OST run on the CPU, P-SWX on the device, all with plain conjugate
gradients as in the paper; `gpukit` is the default.
"""

import functools
import importlib.util
import time
import warnings
from typing import NamedTuple

import numpy as np

from gpukit._driver import Repeated
from gpukit.bench.measurement import QUANTILE, Row, check_near, find_data, require_data, seconds
from gpukit.documents import Documents, find_folds, read_letor, synth_letor, take_queries
from gpukit.errors import DataError
from gpukit.evaluation import significance
from gpukit.evaluation.ranking import values_by_query
from gpukit.ranking import RankSVM, cpu
from gpukit.ranking.pair_sums import make_pair_sums
from gpukit.ranking.solvers import tron
from gpukit.ranking.solvers.objective import Objective, Preconditioner
from gpukit.runtime import thread_count

SHAPES = ("mslr-web30k", "mslr-web10k", "mq2007-list", "mq2008-list", "mq2007")
C, EPS, MOST = 1.0, 1e-5, 200
TOLERANCES = {True: 1e-7, False: 1e-5}  # relative: products with X in float64 (a pair may be on its margin) or not


@functools.lru_cache(maxsize=1)
def generate_documents(name, scale):
    """Return Documents generated with a shape."""
    return synth_letor(name, scale, 0)


def prepare_run(documents, device, **settings):
    """Return the run.Run of a RankSVM with the Documents on the device."""
    return RankSVM(C, eps=EPS, max_iter=MOST, device=device, **settings).prepare(documents)


def minimize(run, precondition=True, **options):
    """Return the tron.Result of a run.Run; the preconditioner's matrix is computed as well."""
    session = run.session
    preconditioner = Preconditioner(session.gram()) if precondition else None
    return tron.minimize(Objective(session, C, preconditioner), np.zeros(session.n), EPS, MOST, **options)


def time_minimize(run, precondition=True, **repeated):
    """Return ([seconds] of `minimize`, the Result of the last one after a check, its [(second, objective)]).

    repeated: see measurement.seconds.
    """
    results, curve = [], []

    def train():
        curve.clear()
        start = time.perf_counter()
        listen = lambda *news: curve.append((time.perf_counter() - start, news[-1]["f"]))  # noqa: E731
        results.append(minimize(run, precondition, progress=listen))

    times = seconds(train, 5 if run.device.is_cuda else 3, **repeated)
    for result in results[1:]:
        check_near("objective", result.objective, results[0].objective, 1e-9)
    check_solution(run.problem, results[-1])
    return times, results[-1], curve


def check_solution(problem, result):
    """Raise DataError unless f is right and the gradient within EPS, by an order-statistic tree on the CPU."""
    objective = Objective(make_pair_sums(problem, "ost", cpu), C)
    start = np.linalg.norm(objective.evaluate(np.zeros_like(result.w))[1])
    f, gradient = objective.evaluate(result.w)
    check_near("objective", result.objective, f, 1e-9)
    if not np.linalg.norm(gradient) <= 1.001 * EPS * start:
        raise DataError(f"the benchmark's training stopped at {np.linalg.norm(gradient) / start:.2g} of the gradient.")


def describe_steps(result):
    """Return '5 Newton and 8 CG steps'."""
    return f"{len(result.history)} Newton and {count_cg_steps(result)} CG steps"


def count_cg_steps(result):
    """Return the number of conjugate gradient steps of a training."""
    return sum(step["cg_steps"] for step in result.history)


def ranking(conditions):
    """Time training from documents on the device to w, and fits from arrays on the host."""
    for _, shape, documents in conditions.generate(generate_documents, SHAPES):
        run = prepare_run(documents, conditions.device)
        plain_times, plain, _ = time_minimize(run, precondition=False)
        times, result, _ = time_minimize(run)
        note = f"{run.solver}, {describe_steps(result)}, f = {result.objective:.12g}; {count_cg_steps(plain)} CG steps "
        note += "without a preconditioner"
        yield Row("training, C=1 eps=1e-5", shape, "generated", times, "s", note)
        note = f"{run.solver}, {describe_steps(plain)}, f = {plain.objective:.12g}"
        yield Row("the same without a preconditioner", shape, "generated", plain_times, "s", note)
        del run
        yield fit_row(documents, shape, conditions.device, result.objective)


def fit_row(documents, shape, device, f):
    """Return the row of RankSVM.fit, whose objective must be f."""
    model = RankSVM(C, eps=EPS, device=device)
    times = seconds(lambda: model.fit(documents), 5)
    check_near("objective of a fit", model.objective_, f, 1e-9)
    parts = ", ".join(f"{name} {1e3 * part:.1f} ms" for name, part in model.timings_.items())
    return Row("the whole fit, from arrays on the host", shape, "generated", times, "s", f"{model.solver_}; {parts}")


def product_step(run, v, exact):
    """Return a function that computes the product with v; on a GPU it only queues it."""
    session = run.session
    if not run.device.is_cuda:
        return lambda: session.walk(v, 0.0)
    session.walk(v, 0.0, exact)  # copies v to the device
    return Repeated(*session.product.walk(0.0, exact))


SOLVERS = ("scan", "ost", "dcm", "p-swx")
TENTHS = ("mq2008-list", "mq2007-list", "mslr-web10k")


@functools.lru_cache(maxsize=1)
def mq2008_folds(folder):
    """Return [{part: Documents}] of MQ2008's five folds."""
    folds = find_folds(require_data(folder, "MQ2008"))
    return [{part: read_letor(getattr(fold, part)) for part in ("train", "vali", "test")} for fold in folds]


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
        check_near(f"objective by {solver}", model.objective_, f, 1e-6)
        kind = "threads as it chooses" if threads is None else f"{threads} thread"
        what = f"the whole fit by {solver}{'' if precondition else ' with plain CG'}, {kind}"
        note = f"{len(documents.y):,} x {documents.X.shape[1]}, {model.n_pairs_:,} pairs; "
        note += f"{model.n_iter_} Newton and {model.n_cg_} CG steps"
        yield Row(what, shape, data, times, "s", note)


def time_fit(documents, solver, precondition, threads):
    """Return ([seconds], the model) of fits on the CPU."""
    model = RankSVM(C, eps=EPS, solver=solver, precondition=precondition, device="cpu")
    with thread_count.limit_threads(threads):
        return seconds(lambda: model.fit(documents), 5), model


NDCG = "ndcg@10"
OURS = "features auto"


def read_demo(folder):
    """Return the Documents of LightGBM's LambdaRank example, its training and test queries together."""
    path = require_data(folder, "lambdarank-demo")
    train = read_letor(path / "rank.train")
    test = read_letor(path / "rank.test", n_features=train.X.shape[1])
    X = np.concatenate([to_array(documents.X) for documents in (train, test)])
    offsets = np.append(train.offsets, train.offsets[-1] + test.offsets[1:])
    return Documents(X, np.append(train.y, test.y), offsets, np.arange(len(offsets) - 1))


def to_array(X):
    """Return X dense."""
    return X.toarray() if hasattr(X, "indptr") else X


def make_planted(seed):
    """Return Documents with five grades of relevance by -x1^2 + x2 x3, of ten features."""
    random, queries, length, grades = np.random.default_rng(seed), 200, 20, (0.5, 0.75, 0.9, 0.97)
    X = random.normal(size=(queries * length, 10))
    quality = X[:, 1] * X[:, 2] - X[:, 0] ** 2
    y = np.digitize(quality, np.quantile(quality, grades)).astype(np.float64)
    return Documents(X, y, np.arange(0, len(y) + 1, length), np.arange(queries))


def split_queries(documents, seed):
    """Return [Documents] of a random split by query: training, validation, test."""
    count = len(documents.qids)
    order = np.random.default_rng(seed).permutation(count)
    ends = round(0.6 * count), round(0.8 * count)
    return [take_queries(documents, np.sort(queries)) for queries in np.split(order, ends)]


# kind of data, number of splits
SETS = {"lambdarank-demo": ("real", 10), "MQ2008": ("real", 5), "planted U-shape": ("generated", 10)}


def list_parts(name, folder, split):
    """Return the training, validation and test Documents of a split of one of SETS."""
    if name == "MQ2008":
        return [part._replace(X=to_array(part.X)) for part in mq2008_folds(folder)[split].values()]
    return split_queries(read_demo(folder) if name == "lambdarank-demo" else make_planted(split), split)


def fit_trees(train, validation):
    """Return the predict method of LightGBM's LGBMRanker."""
    import lightgbm

    model, groups = lightgbm.LGBMRanker(verbose=-1), [np.diff(documents.offsets) for documents in (train, validation)]
    sets = {"eval_set": [(validation.X, validation.y)], "eval_group": groups[1:], "eval_at": [10]}
    stop = lightgbm.early_stopping(20, verbose=False)
    return model.fit(train.X, train.y, group=groups[0], **sets, callbacks=[stop]).predict


def fit_boosted(train, validation):
    """Return the predict method of XGBoost's XGBRanker."""
    import xgboost

    queries = [
        np.repeat(np.arange(len(documents.qids)), np.diff(documents.offsets)) for documents in (train, validation)
    ]
    model = xgboost.XGBRanker(early_stopping_rounds=20, eval_metric=NDCG)
    sets = {"eval_set": [(validation.X, validation.y)], "eval_qid": queries[1:], "verbose": False}
    return model.fit(train.X, train.y, qid=queries[0], **sets).predict


def fit_ours(features, train, validation):
    """Return the predict method of RankSVM with its defaults and a choice of features."""
    return RankSVM(features=features, device="cpu").fit(train, eval_set=[validation]).predict


METHODS = {  # functions of the training and the validation Documents
    OURS: lambda *parts: fit_ours("auto", *parts),
    "features linear (default)": lambda *parts: fit_ours("linear", *parts),
    "LightGBM": fit_trees,
    "XGBoost": fit_boosted,
}


def features(conditions):
    """Measure NDCG@10 of test queries, and the difference between RankSVM with features 'auto' and the others."""
    has_rivals = all(importlib.util.find_spec(name) for name in ("lightgbm", "xgboost"))
    if conditions.device.is_cuda or not has_rivals:
        return
    for name, (kind, splits) in SETS.items():
        if kind == "real" and conditions.data is None:
            continue
        count = max(2, round(conditions.scale * splits))
        results = [evaluate_split(*list_parts(name, conditions.data, split)) for split in range(count)]
        yield from set_rows(name, kind, results)


def evaluate_split(train, validation, test):
    """Return (ids of the test queries, {method: NDCG@10 (queries,)}) of the parts of a split."""
    warnings.filterwarnings("ignore", module="lightgbm")  # of arguments with new names
    values = {}
    for name, fit in METHODS.items():
        scores = np.asarray(fit(train, validation)(test.X), np.float64)
        values[name] = values_by_query([NDCG], test.y, scores, test.offsets, "standard")[NDCG][0]
    return test.qids, values


def set_rows(name, kind, results):
    """Yield the rows of a set: the mean of each method, and differences paired by query."""
    means = {method: [float(values[method].mean()) for _, values in results] for method in METHODS}
    winner = max(means, key=lambda method: np.mean(means[method]))
    for method, values in means.items():
        note = "by split " + " ".join(f"{value:.4f}" for value in values)
        what, unit = f"test NDCG@10, {method}", f"mean of {len(values)} splits"
        yield Row(what, name, kind, [float(np.mean(values))], unit, f"{note}; best: {winner}")
    for method in list(METHODS)[1:]:
        paired = compare(results, method, is_shared=kind == "real")
        note = f"90 % interval {paired.low:.4f} to {paired.high:.4f}, p {paired.p:.3f}, {paired.users} queries"
        yield Row(f"test NDCG@10, {OURS} less {method}", name, kind, [paired.mean], "mean over queries", note)


def compare(results, method, is_shared):
    """Return the significance.Difference of OURS and a method, with a 90 % interval.

    is_shared: the splits are of the same queries; a query's value is its mean over the splits that test it.
    """
    import pandas

    tables = {split: pandas.DataFrame(values, index=queries) for split, (queries, values) in enumerate(results)}
    means = pandas.concat(tables).groupby(level=1 if is_shared else [0, 1]).mean()
    return significance.compare(means[OURS], means[method], quantile=QUANTILE)


PAPER_SOLVERS = {"DCM": "dcm", "OST": "ost", "P-SWX": "p-swx", "gpukit": "auto"}
ON_CPU = "DCM", "OST"
TABLE_1 = ("mq2008", "mq2007", "mslr-web30k", "mslr-web10k", "mq2008-list", "mq2007-list")  # sets of documents
QUANTITIES = ("documents", "features", "levels of a query", "queries", "pairs", "longest query")


class SolverTraining(NamedTuple):
    """[seconds] of trainings of documents on their device; [(second, objective)] and RankSVM of the last; accuracy."""

    times: list
    curve: list
    model: RankSVM
    accuracy: float


def read_documents(name, conditions):
    """Return (Documents, shape, 'real' or 'generated') of a set of Table 1."""
    if name == "mq2008" and (path := find_data(conditions.data, "MQ2008/Fold1/train.txt")):
        return read_letor(path), "MQ2008", "real"
    ((_, shape, documents),) = conditions._replace(shapes=(name,)).generate(generate_documents, (name,))
    return documents, shape, "generated"


def read_inputs(conditions):
    """Yield (name, Documents, shape, 'real' or 'generated') of the sets of Table 1."""
    for name in conditions.select(TABLE_1):
        yield name, *read_documents(name, conditions)


def train_sets(conditions):
    """Yield (name, solver, its SolverTraining, (shape, 'real' or 'generated')) of the sets of Table 1."""
    for name, _, *data in read_inputs(conditions):
        for solver in PAPER_SOLVERS:
            yield name, solver, train(name, solver, conditions._replace(shapes=())), data


@functools.cache
def train(name, solver, conditions):
    """Return the SolverTraining of a solver of PAPER_SOLVERS, which Tables 2 and 3 and Fig. 1 share.

    A few queries warm up a CPU. Long trainings are repeated less.
    """
    documents, *_ = read_documents(name, conditions)
    model, precondition = make_model(solver, conditions.device), solver == "gpukit"
    few = take_queries(documents, np.arange(min(50, len(documents.qids))))
    minimize(model.prepare(few), precondition)
    run = model.prepare(documents)
    times, result, curve = time_minimize(run, precondition, warm_up=int(run.device.is_cuda), limit=5.0)
    model.set_trained(run, C, result)
    return SolverTraining(times, [*curve, (times[-1], model.objective_)], model, 100 * model.score(documents))


@functools.cache
def find_optimum(name, conditions):
    """Return the least objective of a set."""
    documents, *_ = read_documents(name, conditions)
    return make_model("gpukit", conditions.device, 1e-9).fit(documents).objective_


def make_model(solver, device, eps=EPS):
    """Return the unfitted RankSVM of a solver of PAPER_SOLVERS."""
    device = "cpu" if solver in ON_CPU else str(device).split()[0]
    settings = {"eps": eps, "max_iter": MOST, "scale": "none", "precondition": solver == "gpukit"}
    return RankSVM(C, solver=PAPER_SOLVERS[solver], device=device, **settings)


def table1(conditions):
    """Count documents, features, levels, queries and pairs."""
    for _, documents, *data in read_inputs(conditions):
        sizes = np.diff(documents.offsets)
        queries = np.split(documents.y, documents.offsets[1:-1])
        pairs = make_model("gpukit", conditions.device).prepare(documents).n_pairs
        levels = max(len(np.unique(labels)) for labels in queries)
        values = (*documents.X.shape, levels, len(sizes), pairs, int(sizes.max()))
        for quantity, value in zip(QUANTITIES, values):
            yield Row(f"Table 1 {quantity}", *data, [float(value)], "")


def table2(conditions):
    """Time training to the paper's precision by each solver."""
    for _, solver, training, data in train_sets(conditions):
        place = " on the CPU" * (solver in ON_CPU)
        note = f"{training.model.n_iter_} Newton steps, f = {training.model.objective_:.10g}"
        yield Row(f"Table 2 training by {solver}{place}", *data, training.times, "s", note)


def table3(conditions):
    """Measure the pairwise accuracy on the training set by each solver."""
    for _, solver, training, data in train_sets(conditions):
        yield Row(f"Table 3 accuracy of {solver}", *data, [training.accuracy], "%")


def fig1(conditions):
    """Measure the relative difference to the optimum (Eq. 15) by second of training."""
    for name, solver, training, data in train_sets(conditions):
        optimum = find_optimum(name, conditions._replace(shapes=()))
        distances = [(second, abs(f - optimum) / abs(optimum)) for second, f in training.curve]
        note = "; ".join(f"{second:.4g} s {distance:.3g}" for second, distance in distances)
        yield Row(f"Fig. 1 {solver}{' on the CPU' * (solver in ON_CPU)}", *data, [distances[-1][1]], "eta", note)
