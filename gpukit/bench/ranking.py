"""Benchmarks of linear RankSVM on generated documents. Each is a function of Conditions that yields record.Rows.

Answers are checked on the CPU by an order-statistic tree, which shares neither the level tree nor the fused pass.
"""

import functools

import numpy as np

from gpukit._driver import Repeated
from gpukit.bench.conditions import shape_name
from gpukit.bench.record import Row
from gpukit.bench.sorting import holder
from gpukit.bench.timing import milliseconds, queued_milliseconds, seconds
from gpukit.documents import synth_letor
from gpukit.errors import DataError
from gpukit.ranking import RankSVM, cpu
from gpukit.ranking.arrays import Sums
from gpukit.ranking.session import make_session
from gpukit.ranking.solvers import tron
from gpukit.ranking.solvers.objective import Objective, Preconditioner
from gpukit.ranking.solvers.path import parse_grid

SHAPES = ("mslr-web30k", "mslr-web10k", "mq2007-list", "mq2008-list", "mq2007")
PRODUCTS, RUNGS, PATHS = ("mslr-web30k", "mq2007-list"), ("mslr-web10k", "mq2007"), ("mq2007",)
C, EPS, MOST = 1.0, 1e-5, 200
CLOSE = 1e-9  # relative: f of one w, whoever evaluates it
EXACT, SINGLE = 1e-7, 1e-5  # relative: products with X in float64 (a pair may stand on its margin), in float32
SAME = 1e-6  # relative: f where two trainings with this eps stopped
GRID = "2^-15:2^8"
PAPER = {
    "mq2007-list": (380.51, 203.02, 22.46),
    "mq2008-list": (493.12, 276.46, 37.17),
    "mslr-web10k": (2791.22, 2481.35, 276.11),
    "mslr-web30k": (19449.65, 17019.16, 939.38),
    "mq2007": (12.67, 10.18, 5.90),
    "mq2008": (0.67, 0.48, 1.37),
}  # seconds of DCM, OST on a CPU and of P-SWX on a C2050: Table 2


@functools.lru_cache(maxsize=1)
def generated(like, scale):
    """Documents generated with a shape."""
    return synth_letor(like, scale, 0)


def paper(like, scale=1.0):
    """What the paper took, for a note; '' for a part of a shape."""
    if scale != 1:
        return ""
    return "; the paper's DCM {:g} s, OST {:g} s, P-SWX on a C2050 {:g} s".format(*PAPER[like])


def prepared(documents, device, **settings):
    """run.Run of a RankSVM on Documents: they lie on the device."""
    return RankSVM(C, eps=EPS, max_iter=MOST, device=device, **settings).prepare(documents)


def trained(run, preconditioned=True):
    """tron.Result of a run.Run, from the documents on the device: the preconditioner's matrix counts as well."""
    session = run.session
    preconditioner = Preconditioner(session.gram()) if preconditioned else None
    return tron.minimize(Objective(session, C, preconditioner), np.zeros(session.n), EPS, MOST)


def training(run, preconditioned=True):
    """([seconds] of `trained`, its Result, checked)."""
    results, repeat = [], 5 if run.device.is_cuda else 3
    times = seconds(lambda: results.append(trained(run, preconditioned)), repeat)
    for result in results[1:]:
        check_same(result, results[0], CLOSE)
    check_solution(run.problem, results[-1])
    return times, results[-1]


def on_cpu(problem, w):
    """The session of an order-statistic tree on the CPU, at a point."""
    session = make_session(problem, "ost", cpu)
    session.move(w)
    return session


def check_solution(problem, result):
    """Raise DataError unless f is right and the gradient as small as was asked for."""
    objective = Objective(on_cpu(problem, result.w), C)
    start = np.linalg.norm(objective.evaluate(np.zeros_like(result.w))[1])
    f, gradient = objective.evaluate(result.w)
    if not abs(f - result.objective) <= CLOSE * f:
        raise DataError(f"the benchmark's f is {result.objective!r}, evaluated on the CPU {f!r}.")
    if not np.linalg.norm(gradient) <= 1.001 * EPS * start:
        raise DataError(f"the benchmark's training stopped at {np.linalg.norm(gradient) / start:.2g} of the gradient.")


def check_same(result, other, tolerance):
    """Raise DataError unless two trainings end at the same f."""
    if not abs(result.objective - other.objective) <= tolerance * other.objective:
        raise DataError(f"the benchmark's trainings end at f = {result.objective!r} and {other.objective!r}.")


def check_near(found, expected, tolerance):
    """Raise DataError unless an array is as near to the expected one, relative to its norm."""
    error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
    if not error <= tolerance:
        raise DataError(f"the benchmark's result is {error:.2g} away from the CPU's, more than {tolerance:g}.")


def steps(result):
    """'5 Newton and 8 CG steps'."""
    return f"{len(result.history)} Newton and {cg_steps(result)} CG steps"


def cg_steps(result):
    """Conjugate gradient steps of a training."""
    return sum(step["cg_steps"] for step in result.history)


def step_milliseconds(run, once, repeat):
    """[milliseconds] of a step on the documents of a run.Run; on a GPU of what it queues there."""
    if run.device.is_cuda:
        return queued_milliseconds(once, repeat, holder())
    return milliseconds(once, repeat)


def on_host(array):
    """An array of either device, on the host."""
    return array.copy_to_host() if hasattr(array, "copy_to_host") else array


def ranking(conditions):
    """Whole training: from documents on the device to w, and from arrays on the host to a fitted estimator."""
    for like in conditions.among(SHAPES):
        documents, shape = generated(like, conditions.scale), shape_name(like, conditions.scale)
        run = prepared(documents, conditions.device)
        plain_times, plain = training(run, preconditioned=False)
        times, result = training(run)
        found = f"{run.solver}, {steps(result)}, f = {result.objective:.12g}"
        without = f"; {cg_steps(plain)} CG steps without a preconditioner{paper(like, conditions.scale)}"
        yield Row("training, C=1 eps=1e-5", shape, "generated", times, "s", found + without)
        yield Row(
            "the same without a preconditioner",
            shape,
            "generated",
            plain_times,
            "s",
            f"{run.solver}, {steps(plain)}, f = {plain.objective:.12g}",
        )
        del run
        yield fit_row(documents, shape, conditions.device, result.objective)


def fit_row(documents, shape, device, f):
    """Row of RankSVM.fit, whose objective must be f."""
    model = RankSVM(C, eps=EPS, device=device)
    times = seconds(lambda: model.fit(documents), 5)
    if not abs(model.objective_ - f) <= CLOSE * f:
        raise DataError(f"the benchmark's fit has f = {model.objective_!r}, its training {f!r}.")
    parts = ", ".join(f"{name} {1e3 * part:.1f} ms" for name, part in model.timings_.items())
    return Row("the whole fit, from arrays on the host", shape, "generated", times, "s", f"{model.solver_}; {parts}")


def product(conditions):
    """One product with the Hessian at the solution, and one with X."""
    for like in conditions.among(PRODUCTS):
        run = prepared(generated(like, conditions.scale), conditions.device, solver="scan")
        w, v = trained(run).w, np.random.default_rng(0).normal(size=run.session.n)
        run.session.move(w)
        shape, expected = shape_name(like, conditions.scale), on_cpu(run.problem, w)
        yield from product_rows(run, v, shape, expected)
        yield scores_row(run, v, shape, expected)


def product_rows(run, v, shape, expected):
    """Rows of products with X in float32 (GPU) and float64; expected: a Session that knows the answer."""
    session, right = run.session, expected.walk(v, 0.0)
    for exact in (False, True) if run.device.is_cuda else (True,):
        check_near(session.walk(v, 0.0, exact), right, EXACT if exact else SINGLE)
        samples = step_milliseconds(run, product_step(run, v, exact), 31)
        name = "float64" if exact else "float32"
        yield Row(f"one product with the Hessian in {name}", shape, "generated", samples, "ms", size(run))


def product_step(run, v, exact):
    """A function that makes the product with v, on the GPU only queues it."""
    session = run.session
    if not run.device.is_cuda:
        return lambda: session.walk(v, 0.0)
    session.walk(v, 0.0, exact)  # v lies there from now on
    return Repeated(*session.product.walk(0.0, exact))


def scores_row(run, v, shape, expected):
    """Row of X v."""
    session = run.session
    samples = step_milliseconds(run, lambda: session.matrix.scores(v, session.scores), 31)
    expected.matrix.scores(v, expected.scores)
    check_near(on_host(session.scores), expected.scores, EXACT)
    return Row("X v", shape, "generated", samples, "ms", size(run))


def size(run):
    """The documents of a Run, for a note."""
    X = run.problem.X
    return f"{X.shape[0]:,} x {X.shape[1]} {X.dtype}, {X.nbytes / 1e9:.3f} GB; {run.problem.n_pairs:,} pairs"


class Unmoved:
    """In place of a session's matrix: the scores stay as they are."""

    def scores(self, v, out):
        """Nothing."""


def rungs(conditions):
    """The ladder: pair statistics the paper's way and by the level tree, and whole trainings with plain CG by both."""
    for like in conditions.among(RUNGS):
        documents, shape = generated(like, conditions.scale), shape_name(like, conditions.scale)
        runs = [prepared(documents, conditions.device, solver=solver) for solver in ("p-swx", "scan")]
        for run in runs:
            times, result = training(run, preconditioned=False)
            note = f"{steps(result)}{paper(like, conditions.scale)}"
            yield Row(f"training by {run.solver} with plain CG", shape, "generated", times, "s", note)
        yield from statistics_rows(*runs, result.w, shape)


def statistics_rows(paper_run, run, w, shape):
    """Rows of what a Newton step, and a CG step, takes besides products with X."""
    order, scan = paper_run.session, run.session
    for session in (order, scan):
        session.move(w)
    expected = on_cpu(run.problem, w)
    v = np.random.default_rng(0).normal(size=len(w))
    check_near(order.walk(v, 0.0), expected.walk(v, 0.0), EXACT)
    yield Row(
        "P-SWX: sums of one vector over all active pairs",
        shape,
        "generated",
        step_milliseconds(run, sums_step(order), 9),
        "ms",
        "once a CG step, and once a Newton step",
    )
    yield from product_rows(run, v, shape, expected)
    scan.matrix = Unmoved()
    samples = step_milliseconds(run, lambda: scan.move(w), 15)
    check_counts(order, on_host(scan.partners.counts))
    yield Row("level tree: sort, search, tables", shape, "generated", samples, "ms", "once a Newton step")


def sums_step(session):
    """A function that adds up ones over the active pairs of an OrderSession, on the GPU only queues it."""
    return lambda: session.solver(
        session.order, session.scores, session.level, session.offsets, session.ones, session.counts
    )


def check_counts(order, counts):
    """Raise DataError unless counts (2, l) of a level tree, and an OrderSession's, are those of a tree on the CPU."""
    given = [on_host(array) for array in (order.order, order.scores, order.level, order.offsets, order.ones)]
    above, below = found = Sums(np.empty(order.size), np.empty(order.size))
    cpu.ost(*given, found)
    theirs = [on_host(array) for array in order.counts]
    if not (np.array_equal(theirs, [above, below]) and np.array_equal(counts, [above + below, below - above])):
        raise DataError("the benchmark's counts of active pairs are not those of the CPU.")


def path(conditions):
    """C over a grid, each training from the last one's w or from 0, with a preconditioner and without."""
    for like in conditions.among(PATHS):
        documents, shape = generated(like, conditions.scale), shape_name(like, conditions.scale)
        for precondition in (True, False):
            run = prepared(documents, conditions.device, precondition=precondition)
            warm_times, warm = timed_path(run, True)
            cold_times, cold = timed_path(run, False)
            for one, other in zip(warm, cold, strict=True):
                check_same(one, other, SAME)
            how = "" if precondition else ", plain CG"
            yield path_row(f"{len(warm)} values of C, warm-started{how}", shape, warm_times, warm)
            yield path_row(f"{len(cold)} values of C, each from w = 0{how}", shape, cold_times, cold)


def timed_path(run, warm):
    """([seconds], [tron.Result] a value of C) of training a Run along the grid."""
    kept = []

    def once():
        kept.append([])
        for value in parse_grid(GRID).tolist():
            kept[-1].append(run.train(value, kept[-1][-1].w if warm and kept[-1] else None))

    return seconds(once, 5 if run.device.is_cuda else 3), kept[-1]


def path_row(what, shape, times, results):
    """Row of a path."""
    newton, cg = sum(len(result.history) for result in results), sum(map(cg_steps, results))
    note = f"C from {GRID.replace(':', ' to ')}; {newton} Newton and {cg} CG steps"
    return Row(what, shape, "generated", times, "s", note)


BENCHES = {"ranking": ranking, "product": product, "rungs": rungs, "path": path}
