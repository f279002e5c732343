"""Benchmarks of linear RankSVM on generated documents.

Results are checked on the CPU by an order-statistic tree, which shares neither the level tree nor the fused pass.
"""

import functools

import numpy as np

from gpukit._driver import Repeated
from gpukit.bench.measurement import Row, check_near, seconds, to_host
from gpukit.bench.sorting import time_step
from gpukit.documents import synth_letor
from gpukit.errors import DataError
from gpukit.ranking import RankSVM, cpu
from gpukit.ranking.pair_sums import make_pair_sums
from gpukit.ranking.solvers import tron
from gpukit.ranking.solvers.objective import Objective, Preconditioner

SHAPES = ("mslr-web30k", "mslr-web10k", "mq2007-list", "mq2008-list", "mq2007")
PRODUCTS = ("mslr-web30k", "mq2007-list")
C, EPS, MOST = 1.0, 1e-5, 200
CLOSE = 1e-9  # relative: f of the same w by any implementation
EXACT, SINGLE = 1e-7, 1e-5  # relative: products with X in float64 (a pair may be on its margin), in float32
PAPER = {
    "mq2007-list": (380.51, 203.02, 22.46),
    "mq2008-list": (493.12, 276.46, 37.17),
    "mslr-web10k": (2791.22, 2481.35, 276.11),
    "mslr-web30k": (19449.65, 17019.16, 939.38),
    "mq2007": (12.67, 10.18, 5.90),
    "mq2008": (0.67, 0.48, 1.37),
}  # seconds of DCM, OST on a CPU and of P-SWX on a C2050: Table 2


@functools.lru_cache(maxsize=1)
def generate_documents(name, scale):
    """Return Documents generated with a shape."""
    return synth_letor(name, scale, 0)


def paper_note(name, scale=1.0):
    """Return the paper's seconds for a note; '' for a fraction of a shape."""
    if scale != 1:
        return ""
    return "; the paper's DCM {:g} s, OST {:g} s, P-SWX on a C2050 {:g} s".format(*PAPER[name])


def prepare_run(documents, device, **settings):
    """Return the run.Run of a RankSVM with the Documents on the device."""
    return RankSVM(C, eps=EPS, max_iter=MOST, device=device, **settings).prepare(documents)


def minimize(run, precondition=True, **options):
    """Return the tron.Result of a run.Run; the preconditioner's matrix is computed as well."""
    session = run.session
    preconditioner = Preconditioner(session.gram()) if precondition else None
    return tron.minimize(Objective(session, C, preconditioner), np.zeros(session.n), EPS, MOST, **options)


def time_minimize(run, precondition=True):
    """Return ([seconds] of `minimize`, its Result after a check)."""
    results, repeat = [], 5 if run.device.is_cuda else 3
    times = seconds(lambda: results.append(minimize(run, precondition)), repeat)
    for result in results[1:]:
        check_near("objective", result.objective, results[0].objective, CLOSE)
    check_solution(run.problem, results[-1])
    return times, results[-1]


def session_on_cpu(problem, w):
    """Return the session of an order-statistic tree on the CPU at a point."""
    session = make_pair_sums(problem, "ost", cpu)
    session.move(w)
    return session


def check_solution(problem, result):
    """Raise DataError unless f is right and the gradient within EPS."""
    objective = Objective(session_on_cpu(problem, result.w), C)
    start = np.linalg.norm(objective.evaluate(np.zeros_like(result.w))[1])
    f, gradient = objective.evaluate(result.w)
    check_near("objective", result.objective, f, CLOSE)
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
    for name, shape, documents in conditions.generate(generate_documents, SHAPES):
        run = prepare_run(documents, conditions.device)
        plain_times, plain = time_minimize(run, precondition=False)
        times, result = time_minimize(run)
        note = f"{run.solver}, {describe_steps(result)}, f = {result.objective:.12g}; {count_cg_steps(plain)} CG steps "
        note += f"without a preconditioner{paper_note(name, conditions.scale)}"
        yield Row("training, C=1 eps=1e-5", shape, "generated", times, "s", note)
        note = f"{run.solver}, {describe_steps(plain)}, f = {plain.objective:.12g}"
        yield Row("the same without a preconditioner", shape, "generated", plain_times, "s", note)
        del run
        yield fit_row(documents, shape, conditions.device, result.objective)


def fit_row(documents, shape, device, f):
    """Return the row of RankSVM.fit, whose objective must be f."""
    model = RankSVM(C, eps=EPS, device=device)
    times = seconds(lambda: model.fit(documents), 5)
    check_near("objective of a fit", model.objective_, f, CLOSE)
    parts = ", ".join(f"{name} {1e3 * part:.1f} ms" for name, part in model.timings_.items())
    return Row("the whole fit, from arrays on the host", shape, "generated", times, "s", f"{model.solver_}; {parts}")


def product(conditions):
    """Time a product with the Hessian at the solution, and one with X."""
    for _, shape, documents in conditions.generate(generate_documents, PRODUCTS):
        run = prepare_run(documents, conditions.device, solver="scan")
        w, v = minimize(run).w, np.random.default_rng(0).normal(size=run.session.n)
        run.session.move(w)
        reference = session_on_cpu(run.problem, w)
        yield from product_rows(run, v, shape, reference)
        yield scores_row(run, v, shape, reference)


def product_rows(run, v, shape, reference):
    """Yield rows of products with the Hessian in float32 (GPU) and float64; reference: session with the right one."""
    session, expected = run.session, reference.walk(v, 0.0)
    for exact in (False, True) if run.device.is_cuda else (True,):
        check_near("product with the Hessian", session.walk(v, 0.0, exact), expected, EXACT if exact else SINGLE)
        samples = time_step(product_step(run, v, exact), run.device, 31, 31)
        what = f"one product with the Hessian in {'float64' if exact else 'float32'}"
        yield Row(what, shape, "generated", samples, "ms", describe_size(run))


def product_step(run, v, exact):
    """Return a function that computes the product with v; on a GPU it only queues it."""
    session = run.session
    if not run.device.is_cuda:
        return lambda: session.walk(v, 0.0)
    session.walk(v, 0.0, exact)  # copies v to the device
    return Repeated(*session.product.walk(0.0, exact))


def scores_row(run, v, shape, reference):
    """Return the row of X v."""
    session = run.session
    samples = time_step(lambda: session.matrix.scores(v, session.scores), run.device, 31, 31)
    reference.matrix.scores(v, reference.scores)
    check_near("product with X", to_host(session.scores), reference.scores, EXACT)
    return Row("X v", shape, "generated", samples, "ms", describe_size(run))


def describe_size(run):
    """Return the size of the documents of a Run for a note."""
    X = run.problem.X
    return f"{X.shape[0]:,} x {X.shape[1]} {X.dtype}, {X.nbytes / 1e9:.3f} GB; {run.problem.n_pairs:,} pairs"
