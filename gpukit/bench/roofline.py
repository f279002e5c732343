"""Roofline: each kernel's time compared with the device's measured copy bandwidth and rate of float32 arithmetic.

The bytes are those that the steps of a kernel read and write if only the rows of one step stay in registers, the
operations those of its formulas; both follow from the shapes of its arguments. The bound is the larger of bytes /
bandwidth and operations / rate. Rows that a cache holds can be faster than the bandwidth: more than 100 %. Whole-number
operations and float64 are compared with the float32 rate too. Before it is timed, each kernel runs on a small shape and
its answer is compared with that of the CPU twins on one thread.
"""

import importlib
from functools import partial
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit._pool import map_row_blocks
from gpukit.base.arrays import ensure_host
from gpukit.bench import shape_name
from gpukit.bench.clicks import make_clicks, prepare_ials
from gpukit.bench.measurement import Row, arrays_of, check_near, time_step
from gpukit.bench.ranking import generate_documents, prepare_run, product_step
from gpukit.bench.ratings import generate_split, model_label
from gpukit.bench.sorting import make_slices, web30k_offsets
from gpukit.device.engine import engine
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.run import Judge
from gpukit.imputation.smoothness.method import ConjugateGradients, Observed, Weights
from gpukit.neighbors import plan
from gpukit.neighbors.run import Adder, level_weights, sum_slices, work_units
from gpukit.ratings import synth
from gpukit.ratings.orders.order import order_ratings
from gpukit.runtime.thread_count import limit_threads

SMALL = 0.002  # scale of the checks

PEAK_SIDES = {True: (8192, 1 << 28), False: (2048, 1 << 25)}  # by is_cuda: of the matrices; numbers copied


class Work(NamedTuple):
    """A kernel with its arguments on a device.

    run : function without arguments, which queues the kernel on a GPU
    answer : function without arguments, returns what the last run computed
    bytes, operations : of a run
    """

    run: object
    answer: object
    bytes: float
    operations: float


def epoch(estimator, scale, device):
    """An epoch of stochastic gradient descent; factors, biases and squared errors of both rows are read and written."""
    train, test = generate_split("netflix", scale)
    run = estimator.set_params(device=device).prepare(train)
    layout, judge = run.session.layout, Judge(run.session, test, run.scale, 0)
    factors, near = layout.n_factors, layout.n_neighbors
    other = factors * (2 if layout.minor.half else 4) + 8
    rows = train.shape[1 if near else 0] * 2 * (4 * factors + 8 + 8 * near)
    rates = run.settings.epoch_rates(0)
    return Work(
        lambda: run.session.start_epoch(rates, np.uint32(1)),
        lambda: np.array([judge.rmse()]),
        len(train) * (8 + near + 2 * other) + rows,
        len(train) * (12 * factors + 16 * near + 20),  # error, and two updates of each factor; w, c and residuals
    )


def squares_epoch(factors, scale, device):
    """An epoch of iALS, both sides: normal equations of each row, solved by elimination; see solvers/ials.py."""
    clicks = make_clicks(scale)
    run, users, items = prepare_ials(clicks, factors, "cholesky", device), clicks.users[:1000], clicks.items[:1000]
    answer = lambda: run.session.predict(run.session.ask(users, items))  # noqa: E731
    size = 2 * len(clicks) * (4 * factors + 8) + 4 * factors * sum(clicks.shape)
    operations = 2 * len(clicks) * factors**2 + sum(clicks.shape) * factors**3 / 3
    return Work(lambda: run.training.epoch(0), answer, size, operations)


def simlsh(scale, device):
    """simLSH's codes: a rating adds a bit to each of the sums of Eq. (3), 32 sums in a word."""
    hashes = engine(device, "gpukit.neighbors")
    columns = plan.columns_of(order_ratings(generate_split("netflix", scale)[0], device))
    settings, weights = plan.Settings(), level_weights(columns.values, plan.Settings().psi)
    units, joins, slots = work_units(columns.indptr)
    adder = Adder(hashes, columns, weights, sum_slices(columns.indptr, weights), settings)
    ratings, items = columns.users.size, len(columns.indptr) - 1
    word = 12 + 5  # a random word; an addition of carry-save adders
    size = 5 * ratings + 4 * items * settings.n_words
    run = lambda: adder.join(joins, *adder.add_up(units, slots))  # noqa: E731
    return Work(run, lambda: ensure_host(adder.codes), size, ratings * word * settings.n_words)


def hamming(scale, device):
    """Hamming distances of a stripe of items to all items."""
    searches, arrays = engine(device, "gpukit.neighbors"), arrays_of(device)
    items, words = max(64, round(scale * synth.SHAPES["netflix"].items)), plan.Settings().n_words
    random = np.random.default_rng(0)
    codes = arrays.resident(random.integers(0, 2**32, (items, words), np.uint32), np.uint32)
    make, rows_together = searches.STRIPES["hamming"]
    rows = min(items, plan.stripe_rows(items, searches.stripe_bytes(items), rows_together()))
    keys = arrays.empty((rows, items), np.uint32)
    stripe = make(plan.Items(None, codes, arrays.resident(np.ones(items, np.uint8), np.uint8)), plan.Settings())
    pairs = int(np.prod(keys.shape))
    return Work(lambda: stripe(0, keys), lambda: ensure_host(keys), 4 * (pairs + items * words), 3 * pairs * words)


def top_k(scale, device):
    """The 32 smallest keys of each row."""
    shape, smallest_keys = (max(8, round(scale * 16_384)), synth.SHAPES["netflix"].items), []
    keys = arrays_of(device).resident(np.random.default_rng(0).integers(0, 2400, shape, np.uint32), np.uint32)
    smallest = engine(device, "gpukit.neighbors").smallest

    def run():
        smallest_keys[:] = smallest(keys, 32)

    return Work(run, lambda: ensure_host(smallest_keys[0]), 4 * np.prod(shape), 0)


def segments(scale, device):
    """segmented_argsort of queries with WEB30K's lengths."""
    sorts, arrays, offsets = engine(device, "gpukit.sorting"), arrays_of(device), web30k_offsets(4 * scale)
    keys = arrays.resident(np.random.default_rng(1).normal(size=offsets[-1]), np.float32)
    sort, order = sorts.plan(offsets, np.float32), arrays.empty(keys.size, np.int32)
    return Work(lambda: sorts.argsort(keys, sort, order), lambda: ensure_host(order), 8 * keys.size, 0)


def pair_product(scale, device):
    """A product with RankSVM's Hessian: X and the tables of partners are read once."""
    run, v = ranking_run(scale, device)
    partners = run.session.partners
    size = run.problem.X.nbytes + sum(array.size * array.dtype.itemsize for array in (partners.tables, partners.counts))
    answer = lambda: run.session.walk(v, 0.0, False)  # noqa: E731
    return Work(product_step(run, v, False), answer, size, 4 * run.problem.X.size)


def feature_product(scale, device):
    """The scores X v of all documents."""
    run, v = ranking_run(scale, device)
    session, X = run.session, run.problem.X
    step = partial(session.matrix.scores, v, session.scores)
    return Work(step, lambda: ensure_host(session.scores), X.nbytes + 8 * len(X), 2 * X.size)


def ranking_run(scale, device):
    """Return (run.Run on documents of WEB30K's shape at some w, a vector)."""
    run = prepare_run(generate_documents("mslr-web30k", scale), device, solver="scan")
    w, v = np.random.default_rng(0).normal(size=(2, run.session.n))
    run.session.move(w)
    return run, v


def threshold(scale, device):
    """Singular-value thresholding: values and right vectors take 12 n^3 (Golub and Van Loan, 5.4.5), products 4 n^3."""
    X, lam = make_slices(max(4, round(scale * 8192)), 64, "Gaussian")
    arrays, steps = arrays_of(device), engine(device, "gpukit.svt")
    X, lam, out = (arrays.resident(array, np.float32) for array in (X, lam, np.empty_like(X)))
    run = steps.Thresholding(X, lam, out).run if device.is_cuda else partial(steps.threshold, X, lam, out)
    return Work(run, lambda: ensure_host(out), 12 * X.size, 16 * 64 * X.size)


def gradient_step(scale, device):
    """A step of conjugate gradients on graph and time: for each value, 17 numbers and a mask are read or written."""
    vertices, columns, degree = max(100, round(scale * 1_000_000)), 256, 8
    rng = np.random.default_rng(0)
    ends = np.sort(rng.integers(0, vertices, (vertices, degree)), axis=1).astype(np.int32)
    edges = np.arange(0, ends.size + 1, degree, dtype=np.int32), ends.ravel(), np.full(ends.size, -0.1, np.float32)
    values, ones = rng.normal(size=(vertices, columns)).astype(np.float32), np.ones(vertices, np.float32)
    seen, gaps = rng.random(values.shape) < 0.8, np.append(np.ones(columns - 1, np.float32), np.float32(0.0))
    observed = Observed(values * seen, seen, gaps, np.array([1, 24], np.int32), edges, ones)
    solver = ConjugateGradients(device, observed, values)
    solver.set_weights(Weights(0.03, 0.1, 0.1, (0.1,)))

    def run():
        solver.start_product()
        solver.start_step(1e-3)
        solver.redirect(0.5)

    return Work(run, solver.solution, values.size * (69 + 4 * degree), values.size * (28 + 2 * degree))


def peaks(device):
    """Return the rows of the copy bandwidth, bytes read plus written, and of the rate of a matrix product."""
    xp = importlib.import_module("cupy" if device.is_cuda else "numpy")
    side, numbers = PEAK_SIDES[device.is_cuda]
    source, target = (xp.ones(numbers, np.float32).reshape(64, -1) for _ in range(2))
    a, b, c = (xp.ones((side, side), np.float32) for _ in range(3))

    def copy():
        map_row_blocks(lambda rows: np.copyto(target[rows], source[rows]), source.shape)

    run_copy = partial(xp.copyto, target, source) if device.is_cuda else copy
    rates = [("copy", f"{4 * numbers >> 20} MiB", run_copy, 8 * numbers, "GB/s")]
    product = partial(xp.matmul, a, b, out=c)
    rates += [("product of matrices in float32", f"{side} x {side}", product, 2 * side**3, "Gflop/s")]
    for name, shape, run, amount, unit in rates:
        samples = [1e-6 * amount / sample for sample in time_step(run, device, 11, 5)]
        yield Row(f"roofline: {name}", shape, "generated", samples, unit)


KERNELS = (
    *((f"epoch {model_label('CUSGD++', f)}", partial(epoch, MatrixFactorization(f)), "netflix") for f in (32, 64, 128)),
    (f"epoch {model_label('CULSH-MF', 32)}", partial(epoch, LSHMF(32, n_neighbors=32)), "netflix"),
    ("simLSH p=3 q=100", simlsh, "netflix"),
    ("Hamming distances", hamming, "netflix items"),
    ("the 32 smallest of each row", top_k, "16384 x netflix items"),
    ("segmented_argsort float32", segments, "4 x mslr-web30k"),
    ("product with the Hessian", pair_product, "mslr-web30k"),
    ("X v", feature_product, "mslr-web30k"),
    ("singular-value thresholding", threshold, "64 x 64 x 8192"),
    ("epoch iALS F=64", partial(squares_epoch, 64), "ml-20m"),
    ("step of conjugate gradients", gradient_step, "10^6 vertices x 256 columns"),
)


def roofline(conditions):
    """Measure the share of the device's peak that each kernel reaches."""
    device, rows = conditions.device, list(peaks(conditions.device))
    yield from rows
    close, learned = 1e-4, 0.02  # relative: float32 sums, and the RMSE after an epoch, in another order
    bandwidth, rate = (1e9 * float(np.median(row.samples)) for row in rows)
    for name, build, shape in KERNELS:
        with limit_threads(1):
            expected = first_answer(build(SMALL, devices.cpu()))
        check_near(name, first_answer(build(SMALL, device)), expected, learned if "epoch" in name else close)
        work = build(conditions.scale, device)
        samples = time_step(work.run, device, 11, 5)
        by_bytes, by_operations = work.bytes / bandwidth, work.operations / rate
        bound, unit = max((by_bytes, "% of the copy bandwidth"), (by_operations, "% of the float32 rate"))
        note = f"{np.median(samples):.3g} ms; {work.bytes / 1e9:.3g} GB; {work.operations / 1e9:.3g} Gflop"
        shares = [1e5 * bound / sample for sample in samples]
        yield Row(f"roofline: {name}", shape_name(shape, conditions.scale), "generated", shares, unit, note)


def first_answer(work):
    """Return what a Work computes in its first run."""
    work.run()
    return np.asarray(work.answer(), np.float64)
