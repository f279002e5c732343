"""Benchmarks of the imputation's speed; Zhou and Zhang 2021, section 6: Tables 2 and 3, Figs. 6 to 10.

Results are checked against Algorithm 1 as a plain numpy loop on thinner slices of the same graph, and against the
truth of the generated data.

The graphs of Figs. 6 to 9 and of Table 2 are generated. Table 3 and Fig. 10 have ego-Facebook's graph (real, at scale
1) and generated values. The rank of a slice is a tenth of its side. The paper gives neither the rank nor the decay of
the thresholds.
"""

import gc
import time
from functools import partial
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit.bench import shape_name
from gpukit.bench.measurement import Row, arrays_of, check_error, check_near, find_data, seconds
from gpukit.device.engine import engine
from gpukit.device.workspace import Workspace
from gpukit.graphs import synth_graph
from gpukit.graphs.adjacency import as_adjacency
from gpukit.graphs.basis import fourier_basis
from gpukit.imputation.spectral.path import Options, fit_path

PAPER_OPTIONS = Options(20, 0.7, 0.0, accelerate=False, rank_phase=False)  # the paper does not give its decay
ACCELERATED = PAPER_OPTIONS._replace(decay=None, accelerate=True)


class Shape(NamedTuple):
    """vertices; rows and columns of a slice; options of the 20 iterations."""

    vertices: int
    side: int
    options: Options = PAPER_OPTIONS


SHAPES = {
    "ego-facebook": Shape(4039, 50),
    "64x64x2100": Shape(2100, 64),
    "512x512x2600": Shape(2600, 512, ACCELERATED),  # the paper's GPU with 24 GB is too small
}
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)  # missing slices of Table 3


class Case(NamedTuple):
    """Input of a benchmark.

    graph : GraphTensor with its truth
    basis : Fourier basis
    name, data : of the rows
    device : device.Device
    options : path.Options of the 20 iterations
    workspace : holds the basis on a GPU from run to run
    """

    graph: object
    basis: object
    name: str
    data: str
    device: object
    options: Options
    workspace: Workspace


def make_graph(name, conditions, vertices):
    """Return (adjacency, 'real graph' or 'generated'); a fraction of ego-Facebook is generated."""
    path = find_data(conditions.data, "ego-Facebook/facebook_combined.txt")
    if name == "ego-facebook" and conditions.scale == 1 and path is not None:
        return as_adjacency((np.loadtxt(path, dtype=np.int64), None)), "real graph"
    kind = "ego-facebook" if name == "ego-facebook" else "random"
    return synth_graph(kind, vertices, (1, 1), 1, 0.0).adjacency, "generated"


def generate_case(adjacency, side, missing, device, data="generated"):
    """Return the Case of a graph with generated slices of side x side."""
    workspace = Workspace()
    basis = fourier_basis(adjacency, device=device, workspace=workspace)  # the generator reads it from disk
    graph = synth_graph(adjacency=adjacency, shape=(side, side), rank=max(1, side // 10), missing=missing)
    name = f"{side}x{side}x{adjacency.shape[0]}"
    return Case(graph, basis, name, data, device, PAPER_OPTIONS, workspace)


def make_case(name, conditions):
    """Return the Case of a shape, 20 % of whose slices are missing."""
    vertices, side, options = SHAPES[name]
    graph = make_graph(name, conditions, max(2, round(conditions.scale * vertices)))
    case = generate_case(graph[0], side, 0.2, conditions.device, graph[1])
    title = shape_name(f"{name} {side}x{side}" if "x" not in name else name, conditions.scale)
    return case._replace(name=title, options=options)


def make_session(case, basis=None, tensor=None):
    """Return a session, on its device, of the tensor of a Case or of another one."""
    tensor = case.graph.tensor if tensor is None else tensor
    basis = case.basis if basis is None else basis
    steps = engine(case.device, "gpukit.imputation.spectral")
    return steps.TensorCompletion(basis, tensor, case.graph.mask, np.dtype(np.float32), case.workspace)


def fitted_session(case, options, basis=None, tensor=None, progress=None):
    """Return the session of a Case after upload, first thresholds and iterations."""
    session = make_session(case, basis, tensor)
    fit_path(session, session.largest(), options, progress=progress)
    return session


def plain_loop(vectors, tensor, mask, iterations, decay=PAPER_OPTIONS.decay):
    """Yield (seconds, estimate (N, m, n)) after each step of a plain implementation of Algorithm 1.

    It transforms all slices there and back, and decomposes each by numpy.linalg.svd. vectors (N, K) and tensor have
    one type.
    """
    shape, missing = tensor.shape, (~mask).astype(tensor.dtype)[:, None, None]
    estimate, lam = np.zeros_like(tensor), None
    for _ in range(iterations):
        start = time.perf_counter()
        Z = (vectors.T @ (tensor + missing * estimate).reshape(len(tensor), -1)).reshape(-1, *shape[1:])
        largest = np.empty(len(Z), tensor.dtype)
        for k, matrix in enumerate(Z):
            U, S, V = np.linalg.svd(matrix, full_matrices=False)
            largest[k] = S[0]
            Z[k] = (U * np.maximum(S - (S[0] if lam is None else lam[k]), 0)) @ V
        lam = (largest if lam is None else lam) * tensor.dtype.type(decay)
        estimate = (vectors @ Z.reshape(len(Z), -1)).reshape(shape)
        yield time.perf_counter() - start, estimate


def check_steps(case):
    """Raise DataError unless a few steps on a thinner tensor are the plain loop's in float64."""
    close = 1e-3  # relative: float32 against the loop in float64
    few, side = 4, 6  # steps; rows and columns of a thin slice
    thin = np.ascontiguousarray(case.graph.tensor[:, :side, :side])
    session = fitted_session(case, PAPER_OPTIONS._replace(iterations=few), tensor=thin)
    *_, (_, right) = plain_loop(case.basis.vectors, thin.astype(np.float64), case.graph.mask, few)
    check_near("estimate after a few steps", session.missing(), right[~case.graph.mask], close)


def check_recovered(case, session, most=None):
    """Return the relative error of a session's estimate; raise DataError above `most`, or if little was recovered."""
    recovered = 0.6  # most of the zero-filled tensor's error that 20 steps may leave
    truth, missing = case.graph.truth, ~case.graph.mask
    norm = np.linalg.norm(truth.ravel())
    error = float(np.linalg.norm((session.missing() - truth[missing]).ravel()) / norm)
    bound = recovered * float(np.linalg.norm(truth[missing].ravel()) / norm) if most is None else most
    check_error("estimate", error, bound)
    return error


def time_sessions(case, run, limit=np.inf):
    """Return ([seconds of run()], the last session that it returned); one session exists at a time.

    limit: of the sum of the seconds, see measurement.seconds.
    """
    sessions = []

    def replace():
        sessions.clear()
        sessions.append(run())

    return seconds(replace, *count_runs(case.device), limit=limit), sessions[0]


def count_runs(device):
    """Return (runs, warm-up runs); on the CPU check_steps has compiled everything."""
    return (7, 1) if device.is_cuda else (3, 0)


def impute_speed(conditions):
    """Time 20 iterations with the basis cached and computed, default fits, and a plain loop."""
    large_memory = 30e9  # bytes of a device that the largest shape needs
    is_large = conditions.device.is_cuda and devices.free_memory(conditions.device) > large_memory
    usual = tuple(SHAPES)[: 3 if is_large else 2]
    for name in conditions.select(usual, [name for name in SHAPES if name not in usual]):
        case = make_case(name, conditions)
        check_steps(case)
        samples = yield from iteration_rows(case)
        if name == "ego-facebook":
            yield basis_row(case)
            yield default_row(case)
        if not case.device.is_cuda:
            yield from loop_rows(case, np.median(samples))
        del case
        release(conditions.device)


def iteration_rows(case):
    """Yield the row of the paper's 20 iterations; return its samples."""
    times, session = time_sessions(case, lambda: fitted_session(case, case.options))
    error = check_recovered(case, session)
    kind = "accelerated" if case.options.accelerate else "the paper's own steps"
    copies = "upload of the tensor (the basis is there)" if case.device.is_cuda else "tensor and basis's copy"
    note = f"{kind}; basis in memory; {copies}, first thresholds and 20 steps counted; relative error {error:.4f}"
    yield Row("20 iterations, basis cached", case.name, case.data, times, "s", note)
    return times


def basis_row(case):
    """Return the row of 20 iterations with the basis computed."""

    def run():
        basis = fourier_basis(case.graph.adjacency, device=case.device, cache=False, workspace=case.workspace)
        return fitted_session(case, PAPER_OPTIONS, basis)

    times, session = time_sessions(case, run)
    note = f"eigenvectors of the Laplacian counted; relative error {check_recovered(case, session):.4f}"
    return Row("20 iterations, basis computed", case.name, case.data, times, "s", note)


def default_row(case):
    """Return the row of the default iterations until they end."""
    paper_error = 0.008  # the paper's relative error on ego-Facebook with 20 % missing: Table 3
    most = paper_error if case.data == "real graph" else None
    calls = []
    progress = lambda *values: calls.append(values)  # noqa: E731
    times, session = time_sessions(case, lambda: fitted_session(case, Options(), progress=progress))
    steps = len(calls) // sum(count_runs(case.device))
    note = f"{steps} steps, relative error {check_recovered(case, session, most):.5f}; the paper's {paper_error}"
    return Row("iterations by default, basis cached", case.name, case.data, times, "s", note)


def loop_rows(case, own_seconds):
    """Yield the rows of a few steps of the plain loop, in seconds and relative to our seconds."""
    loop_steps = 2  # measured steps of the loop over numpy.linalg.svd
    vectors = case.basis.vectors.astype(np.float32)
    steps = plain_loop(vectors, case.graph.tensor, case.graph.mask, loop_steps)
    samples = [PAPER_OPTIONS.iterations * step_seconds for step_seconds, _ in steps]
    note = f"the whole transform both ways, float32; {loop_steps} steps measured, times 20"
    what = "20 iterations by a loop over numpy.linalg.svd"
    yield Row(what, case.name, case.data, samples, "s", note)
    times = [float(sample / own_seconds) for sample in samples]
    note = "their seconds over gpukit's median for 20 iterations, basis cached, in one run"
    yield Row("the loop over numpy.linalg.svd against gpukit", case.name, case.data, times, "times", note)


def release(device):
    """Return the memory that pools cache to the GPU."""
    gc.collect()
    if device.is_cuda:
        import cupy

        from gpukit._cuda import cuda

        cuda.current_context().deallocations.clear()
        cupy.get_default_memory_pool().free_all_blocks()


COUNTS = range(100, 4601, 500)  # vertices k of Figs. 6 to 9
SIDES = {"Fig. 6": 64, "Fig. 7": 128, "Fig. 8": 512}
RATES = tuple(0.05 * step for step in range(1, 11))  # missing slices of Fig. 10
SPEEDUPS = {"Fig. 6": 60.50, "Fig. 7": 15.55, "Fig. 8": 2.46}  # of the paper's optimized code, at most
ALGORITHMS = {"the paper's algorithm": PAPER_OPTIONS, "gpukit's default": Options()}


def random_cases(conditions, side, counts):
    """Yield (k of the paper, Case) on random graphs of k vertices, times the scale; each size once.

    A graph has a mean degree of 20.
    """
    sizes = {max(20, round(conditions.scale * count)): count for count in reversed(counts)}
    for vertices, count in reversed(sizes.items()):
        adjacency, _ = make_graph("random", conditions, vertices)
        case = generate_case(adjacency, side, 0.2, conditions.device)  # of the slices are missing
        if not case.graph.mask.all():  # a fraction of few vertices may miss nothing
            yield count, case
        release(conditions.device)


def ego_cases(conditions, rates):
    """Yield (rate, Case) on ego-Facebook's graph with this share of the slices missing."""
    adjacency, data = make_graph("ego-facebook", conditions, max(20, round(conditions.scale * 4039)))
    for rate in rates:
        case = generate_case(adjacency, 50, rate, conditions.device, data)
        if not case.graph.mask.all():
            yield rate, case
        release(conditions.device)


def time_case(case):
    """Return ([seconds] of the paper's iterations, relative error) after a check of the first steps."""
    check_steps(case)
    times, session = time_sessions(case, lambda: fitted_session(case, PAPER_OPTIONS), limit=5.0)
    return times, check_recovered(case, session, np.inf)


def sweep(conditions, figure):
    """Time 20 iterations of slices of one size for growing k."""
    side = SIDES[figure]
    for count, case in random_cases(conditions, side, COUNTS):
        times, error = time_case(case)
        note = f"{case.name}, relative error {error:.3g}; the paper's optimized code: at most {SPEEDUPS[figure]} times "
        note += "its baseline"
        shape = shape_name(f"{side}x{side}xk", conditions.scale)
        yield Row(f"{figure} 20 iterations, k={count}", shape, case.data, times, "s", note)


fig6, fig7, fig8 = (partial(sweep, figure=figure) for figure in SIDES)


def table2(conditions):
    """Measure the parts of 20 iterations at 64 x 64 x 2100."""
    from gpukit.imputation import GraphImputer

    _, case = next(random_cases(conditions, 64, (2100,)))
    model = GraphImputer(weights="slice", center="none", device=str(case.device).split()[0], **PAPER_OPTIONS._asdict())
    model.fit(case.graph.adjacency, case.graph.tensor, case.graph.mask)
    arrays = arrays_of(case.device)  # a CPU copies nothing
    copies = seconds(lambda: arrays.fetch(arrays.resident(case.graph.tensor, case.graph.tensor.dtype)), 5)
    parts = {stage: [stage_seconds] for stage, stage_seconds in model.stages_.items()}
    for part, samples in {"total": time_case(case)[0], **parts, "copy": copies}.items():
        yield Row(f"Table 2 {part}", case.name, case.data, samples, "s", "there and back" * (part == "copy"))


def error_rows(what, shape, case, note=""):
    """Yield the row of each algorithm's relative error."""
    for name, options in ALGORITHMS.items():
        error = check_recovered(case, fitted_session(case, options), np.inf)
        yield Row(f"{what}, {name}", shape, case.data, [error], "relative error", note)


def table3(conditions):
    """Measure the relative error by the share of observed slices."""
    for rate, case in ego_cases(conditions, SHARES):
        yield from error_rows(f"Table 3 observed {1 - rate:g} N", case.name, case)


def fig9(conditions):
    """Measure the relative error of 64 x 64 x k for growing k."""
    shape = shape_name("64x64xk", conditions.scale)
    for count, case in random_cases(conditions, 64, COUNTS):
        yield from error_rows(f"Fig. 9 k={count}", shape, case, case.name)


def fig10(conditions):
    """Time 20 iterations on ego-Facebook's graph by the share of missing slices."""
    means = []
    for rate, case in ego_cases(conditions, RATES):
        times, error = time_case(case)
        means.append(float(np.median(times)))
        note = f"relative error {error:.3g}"
        yield Row(f"Fig. 10 {rate:.0%} missing", case.name, case.data, times, "s", note)
    yield Row("Fig. 10 mean over the shares", case.name, case.data, [float(np.mean(means))], "s")
