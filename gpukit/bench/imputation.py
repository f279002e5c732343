"""Benchmarks of the imputation's speed.

Results are checked against Algorithm 1 as a plain numpy loop on thinner slices of the same graph, and against the
truth of the generated data.
"""

import gc
import time
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit.bench import shape_name
from gpukit.bench.measurement import Row, check_error, check_near, require_data, seconds
from gpukit.device.engine import engine
from gpukit.device.workspace import Workspace
from gpukit.errors import DataError
from gpukit.graphs import synth_graph
from gpukit.graphs.adjacency import as_adjacency
from gpukit.graphs.basis import fourier_basis
from gpukit.imputation.spectral.path import Options, fit_path

ITERATIONS, DECAY = 20, 0.7  # the paper's number of steps; it does not give its decay
PAPER_OPTIONS = Options(ITERATIONS, DECAY, 0.0, accelerate=False, rank_phase=False)
ACCELERATED = Options(ITERATIONS, None, 0.0, accelerate=True, rank_phase=False)


class Shape(NamedTuple):
    """vertices; rows and columns of a slice; rank; the paper's seconds as text; options of the 20 iterations."""

    vertices: int
    side: int
    rank: int
    paper: str
    options: Options = PAPER_OPTIONS


SHAPES = {
    "ego-facebook": Shape(4039, 50, 5, "the paper's RTX6000 6.75 s, its baseline 522 s, MATLAB 1,052 s"),
    "64x64x2100": Shape(2100, 64, 6, "the paper's RTX6000 2.47 s, its baseline 149.54 s"),
    "512x512x2600": Shape(2600, 512, 51, "the paper's RTX6000 (24 GB): out of memory", ACCELERATED),
}
LADDERS = ("ego-facebook", "64x64x2100")


class Case(NamedTuple):
    """Input of a benchmark.

    graph : GraphTensor with its truth
    basis : Fourier basis
    name, data : of the rows
    device : device.Device
    paper : the paper's seconds, for a note
    options : path.Options of the 20 iterations
    workspace : holds the basis on a GPU from run to run
    """

    graph: object
    basis: object
    name: str
    data: str
    device: object
    paper: str
    options: Options
    workspace: Workspace


def read_ego_facebook(folder):
    """Return (adjacency, 'real graph') of ego-Facebook; (None, 'generated') if the folder lacks its edges."""
    try:
        path = require_data(folder, "ego-Facebook/facebook_combined.txt")
    except DataError:
        return None, "generated"
    return as_adjacency((np.loadtxt(path, dtype=np.int64), None)), "real graph"


def make_graph(name, conditions, vertices):
    """Return (adjacency, 'real graph' or 'generated'); a fraction of ego-Facebook is generated."""
    is_real = name == "ego-facebook" and conditions.scale == 1
    adjacency, data = read_ego_facebook(conditions.data) if is_real else (None, "generated")
    if adjacency is None:
        kind = "ego-facebook" if name == "ego-facebook" else "random"
        adjacency = synth_graph(kind, vertices, (1, 1), 1, 0.0).adjacency
    return adjacency, data


def make_case(name, conditions):
    """Return the Case of a shape."""
    missing = 0.2  # fraction of the slices
    vertices, side, rank, paper, options = SHAPES[name]
    adjacency, data = make_graph(name, conditions, max(2, round(conditions.scale * vertices)))
    workspace = Workspace()
    basis = fourier_basis(adjacency, device=conditions.device, workspace=workspace)  # the generator reads it from disk
    graph = synth_graph(adjacency=adjacency, shape=(side, side), rank=rank, missing=missing)
    title = shape_name(f"{name} {side}x{side}" if "x" not in name else name, conditions.scale)
    paper = f"; {paper}" if conditions.scale == 1 else ""
    return Case(graph, basis, title, data, conditions.device, paper, options, workspace)


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


def plain_loop(vectors, tensor, mask, iterations):
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
        lam = (largest if lam is None else lam) * tensor.dtype.type(DECAY)
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


def speed(conditions):
    """Time 20 iterations with the basis cached and computed, default fits, and a plain loop."""
    usual = usual_shapes(conditions.device)
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


def usual_shapes(device):
    """Return the names of the shapes that fit into the device."""
    large_memory = 30e9  # bytes of a device that the largest shape needs
    is_large = device.is_cuda and devices.free_memory(device) > large_memory
    return tuple(SHAPES) if is_large else LADDERS


def iteration_rows(case):
    """Yield the row of the paper's 20 iterations; return its samples."""
    times, session = time_sessions(case, lambda: fitted_session(case, case.options))
    error = check_recovered(case, session)
    kind = "accelerated" if case.options.accelerate else "the paper's own steps"
    copies = (
        "upload of the tensor (the basis is there)" if case.device.is_cuda else "tensor and basis's copy to the device"
    )
    note = (
        f"{kind}; basis in memory; {copies}, first thresholds and {ITERATIONS} steps counted; "
        f"relative error {error:.4f}{case.paper}"
    )
    yield Row(f"{ITERATIONS} iterations, basis cached", case.name, case.data, times, "s", note)
    return times


def basis_row(case):
    """Return the row of 20 iterations with the basis computed."""

    def run():
        basis = fourier_basis(case.graph.adjacency, device=case.device, cache=False, workspace=case.workspace)
        return fitted_session(case, PAPER_OPTIONS, basis)

    times, session = time_sessions(case, run)
    note = f"eigenvectors of the Laplacian counted; relative error {check_recovered(case, session):.4f}"
    return Row(f"{ITERATIONS} iterations, basis computed", case.name, case.data, times, "s", note)


def default_row(case):
    """Return the row of the default iterations until they end."""
    paper_error = 0.008  # the paper's relative error on ego-Facebook with 20 % missing: Table 3
    most = paper_error if case.data == "real graph" else None
    calls = []
    times, session = time_sessions(
        case, lambda: fitted_session(case, Options(), progress=lambda *values: calls.append(values[0]))
    )
    steps = len(calls) // sum(count_runs(case.device))
    note = f"{steps} steps, relative error {check_recovered(case, session, most):.5f}; the paper's {paper_error}"
    return Row("iterations by default, basis cached", case.name, case.data, times, "s", note)


def loop_rows(case, own_seconds):
    """Yield the rows of a few steps of the plain loop, in seconds and relative to our seconds."""
    loop_steps = 2  # measured steps of the loop over numpy.linalg.svd
    vectors = case.basis.vectors.astype(np.float32)
    steps = plain_loop(vectors, case.graph.tensor, case.graph.mask, loop_steps)
    samples = [ITERATIONS * step_seconds for step_seconds, _ in steps]
    note = f"the whole transform both ways, float32; {loop_steps} steps measured, times {ITERATIONS}"
    what = f"{ITERATIONS} iterations by a loop over numpy.linalg.svd"
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
