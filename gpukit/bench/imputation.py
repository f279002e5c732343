"""Benchmarks of the imputation's speed. Each is a function of Conditions that yields record.Rows.

Answers are checked against Algorithm 1 as a plain loop of numpy's, on thinner slices of the same graph, and against the
truth: the data are generated.
"""

import gc
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit.bench.conditions import shape_name
from gpukit.bench.record import Row
from gpukit.bench.timing import seconds
from gpukit.device.engine import engine
from gpukit.device.workspace import Workspace
from gpukit.errors import DataError
from gpukit.graphs import synth_graph
from gpukit.graphs.adjacency import as_adjacency
from gpukit.graphs.basis import fourier_basis
from gpukit.imputation.estimator import GraphImputer
from gpukit.imputation.spectral.path import Options, fit_path

MISSING = 0.2  # of the slices
ITERATIONS, DECAY = 20, 0.7  # the paper's number of steps; it does not give its decay
PAPERS_OWN = Options(ITERATIONS, DECAY, 0.0, accelerate=False, rank_phase=False)
ACCELERATED = Options(ITERATIONS, None, 0.0, accelerate=True, rank_phase=False)
REACHED = 0.008  # the paper's relative error on ego-Facebook with 20 % missing: Table 3
THIN, FEW = 6, 4  # rows and columns of the slices, and steps, that the plain loop checks
CLOSE = 1e-3  # relative: float32 against the loop in float64
RECOVERED = 0.6  # of the zero-filled tensor's error, at most what 20 steps leave
ROOM = 30e9  # bytes of a device that the largest shape wants
LOOPED = 2  # steps of the loop over numpy.linalg.svd that are measured


class Shape(NamedTuple):
    """vertices; rows and columns of a slice; rank; paper: seconds of its GPU code, and of what it compares with;
    options of the 20 iterations."""

    vertices: int
    side: int
    rank: int
    paper: str
    options: Options = PAPERS_OWN


SHAPES = {
    "ego-facebook": Shape(4039, 50, 5, "the paper's RTX6000 6.75 s, its baseline 522 s, MATLAB 1,052 s"),
    "64x64x2100": Shape(2100, 64, 6, "the paper's RTX6000 2.47 s, its baseline 149.54 s"),
    "512x512x2600": Shape(2600, 512, 51, "the paper's RTX6000 (24 GB): out of memory", ACCELERATED),
}
LADDERS = ("ego-facebook", "64x64x2100")


class Case(NamedTuple):
    """What is imputed: graph (GraphTensor with its truth), basis, name and data of the rows, device, the paper's
    figures for a note, the options of 20 iterations, the Workspace in which the basis lies on a GPU from run to run."""

    graph: object
    basis: object
    name: str
    data: str
    device: object
    paper: str
    options: Options
    workspace: Workspace


def ego_facebook(folder):
    """(adjacency or None, what the data are): ego-Facebook's edges, where the folder of real data has them."""
    path = Path(folder or "") / "ego-Facebook" / "facebook_combined.txt"
    if folder is None or not path.exists():
        return None, "generated"
    return as_adjacency((np.loadtxt(path, dtype=np.int64), None)), "real graph"


def graph_of(like, conditions, vertices):
    """(adjacency, what the data are); a share of ego-Facebook is generated."""
    real = like == "ego-facebook" and conditions.scale == 1
    adjacency, data = ego_facebook(conditions.data) if real else (None, "generated")
    if adjacency is None:
        kind = "ego-facebook" if like == "ego-facebook" else "random"
        adjacency = synth_graph(kind, vertices, (1, 1), 1, 0.0).adjacency
    return adjacency, data


def case(like, conditions):
    """The Case of a shape."""
    vertices, side, rank, paper, options = SHAPES[like]
    adjacency, data = graph_of(like, conditions, max(2, round(conditions.scale * vertices)))
    workspace = Workspace()
    basis = fourier_basis(adjacency, device=conditions.device, workspace=workspace)  # the generator takes it from disk
    graph = synth_graph(adjacency=adjacency, shape=(side, side), rank=rank, missing=MISSING)
    name = shape_name(f"{like} {side}x{side}" if "x" not in like else like, conditions.scale)
    paper = f"; {paper}" if conditions.scale == 1 else ""
    return Case(graph, basis, name, data, conditions.device, paper, options, workspace)


def prepared(case, basis=None, tensor=None):
    """A session, on its device, of the tensor of a Case, or of another one."""
    tensor = case.graph.tensor if tensor is None else tensor
    basis = case.basis if basis is None else basis
    steps = engine(case.device, "gpukit.imputation.spectral")
    return steps.Session(basis, tensor, case.graph.mask, np.dtype(np.float32), case.workspace)


def walked(case, options, basis=None, progress=None):
    """The session of a Case after the iterations: upload, first thresholds, path."""
    session = prepared(case, basis)
    fit_path(session, session.largest(), options, progress=progress)
    return session


def plain_loop(vectors, tensor, mask, iterations):
    """Yields (seconds, estimate (N, m, n)) after each step of Algorithm 1, written as one would at first.

    The whole transform there and back, every slice by numpy.linalg.svd; vectors (N, K) and tensor of one type.
    """
    shape, missing = tensor.shape, (~mask).astype(tensor.dtype)[:, None, None]
    estimate, lam = np.zeros_like(tensor), None
    for _ in range(iterations):
        begun = time.perf_counter()
        Z = (vectors.T @ (tensor + missing * estimate).reshape(len(tensor), -1)).reshape(-1, *shape[1:])
        largest = np.empty(len(Z), tensor.dtype)
        for k, matrix in enumerate(Z):
            U, S, V = np.linalg.svd(matrix, full_matrices=False)
            largest[k] = S[0]
            Z[k] = (U * np.maximum(S - (S[0] if lam is None else lam[k]), 0)) @ V
        lam = (largest if lam is None else lam) * tensor.dtype.type(DECAY)
        estimate = (vectors @ Z.reshape(len(Z), -1)).reshape(shape)
        yield time.perf_counter() - begun, estimate


def relative(found, right):
    """||found - right|| / ||right||."""
    return float(np.linalg.norm((found - right).ravel()) / np.linalg.norm(right.ravel()))


def check_steps(case):
    """Raise DataError unless a few steps on a thinner tensor are the plain loop's in float64."""
    thin = np.ascontiguousarray(case.graph.tensor[:, :THIN, :THIN])
    session = prepared(case, tensor=thin)
    fit_path(session, session.largest(), PAPERS_OWN._replace(iterations=FEW))
    missing = ~case.graph.mask
    *_, (_, right) = plain_loop(case.basis.vectors, thin.astype(np.float64), case.graph.mask, FEW)
    error = relative(session.missing(), right[missing])
    if not error <= CLOSE:
        raise DataError(f"the benchmark's steps are {error:.2g} away from the plain loop's, more than {CLOSE:g}.")


def recovered(case, session, most=None):
    """The relative error of a session's estimate; DataError when it is over `most`, or next to nothing came back."""
    truth, missing = case.graph.truth, ~case.graph.mask
    whole = np.linalg.norm(truth.ravel())
    error = float(np.linalg.norm((session.missing() - truth[missing]).ravel()) / whole)
    bound = RECOVERED * float(np.linalg.norm(truth[missing].ravel()) / whole) if most is None else most
    if not error <= bound:
        raise DataError(f"the benchmark's relative error is {error:.3g}, more than {bound:.3g}.")
    return error


def timed(case, run):
    """([seconds of run()], the last session); run returns a session, of which one is kept at a time."""
    kept = []

    def once():
        kept.clear()
        kept.append(run())

    return seconds(once, *turns(case.device)), kept[0]


def turns(device):
    """(runs, runs before them that do not count); on the CPU check_steps has compiled everything."""
    return (7, 1) if device.is_cuda else (3, 0)


def speed(conditions):
    """Whole runs: 20 iterations with the basis at hand and computed, to the paper's accuracy, beside a plain loop."""
    usual = usual_shapes(conditions.device)
    for like in conditions.among(usual, [name for name in SHAPES if name not in usual]):
        one = case(like, conditions)
        check_steps(one)
        own = yield from steps_rows(one)
        if like == "ego-facebook":
            yield basis_row(one)
            yield from accuracy_rows(one)
        if one.device.is_cuda:
            yield memory_row(one)
        else:
            yield from loop_rows(one, np.median(own))
        del one
        release(conditions.device)


def usual_shapes(device):
    """The shapes that a device has room for."""
    large = device.is_cuda and devices.free_memory(device) > ROOM
    return tuple(SHAPES) if large else LADDERS


def steps_rows(one):
    """Row of the paper's 20 iterations; returns its samples."""
    times, session = timed(one, lambda: walked(one, one.options))
    error = recovered(one, session)
    kind = "accelerated" if one.options.accelerate else "the paper's own steps"
    note = (
        f"{kind}; basis in memory; tensor and basis's copy to the device, first thresholds and {ITERATIONS} steps "
        f"counted; relative error {error:.4f}{one.paper}"
    )
    if one.device.is_cuda:
        note = note.replace("tensor and basis's copy to the device", "upload of the tensor (the basis is there)")
    yield Row(f"{ITERATIONS} iterations, basis cached", one.name, one.data, times, "s", note)
    return times


def basis_row(one):
    """Row of the same with the basis computed."""

    def run():
        basis = fourier_basis(one.graph.adjacency, device=one.device, cache=False, workspace=one.workspace)
        return walked(one, PAPERS_OWN, basis)

    times, session = timed(one, run)
    return Row(
        f"{ITERATIONS} iterations, basis computed",
        one.name,
        one.data,
        times,
        "s",
        f"eigenvectors of the Laplacian counted; relative error {recovered(one, session):.4f}",
    )


def accuracy_rows(one):
    """Rows of the iterations by default, until they end, and of the whole GraphImputer.fit."""
    most = REACHED if one.data == "real graph" else None
    taken = []
    times, session = timed(one, lambda: walked(one, Options(), progress=lambda *told: taken.append(told[0])))
    steps = len(taken) // sum(turns(one.device))
    yield Row(
        "iterations by default, basis cached",
        one.name,
        one.data,
        times,
        "s",
        f"{steps} steps, relative error {recovered(one, session, most):.5f}; the paper's {REACHED}",
    )
    del session
    model = GraphImputer(device=str(one.device).split()[0])
    graph = one.graph
    times = seconds(lambda: model.fit(graph.adjacency, graph.tensor, graph.mask), *turns(one.device))
    parts = ", ".join(f"{name} {part:.3f} s" for name, part in model.stages_.items())
    error = relative(model.completed_, graph.truth)
    yield Row(
        "GraphImputer.fit by default",
        one.name,
        one.data,
        times,
        "s",
        f"basis from disk, weights chosen on hidden data ({model.weights_}), confidence; {parts}; "
        f"relative error {error:.5f}",
    )


def loop_rows(one, own):
    """Rows of the loop over numpy.linalg.svd, a few steps of it, and how many times longer it takes."""
    vectors = one.basis.vectors.astype(np.float32)
    steps = plain_loop(vectors, one.graph.tensor, one.graph.mask, LOOPED)
    samples = [ITERATIONS * taken for taken, _ in steps]
    note = f"the whole transform both ways, float32; {LOOPED} steps measured, times {ITERATIONS}"
    yield Row(f"{ITERATIONS} iterations by a loop over numpy.linalg.svd", one.name, one.data, samples, "s", note)
    times = [float(sample / own) for sample in samples]
    yield Row(
        "the loop over numpy.linalg.svd against gpukit",
        one.name,
        one.data,
        times,
        "times",
        "their seconds over gpukit's median for 20 iterations, basis cached, in one run",
    )


def release(device):
    """Give back what pools keep of a GPU's memory."""
    gc.collect()
    if device.is_cuda:
        import cupy

        from gpukit._cuda import cuda

        cuda.current_context().deallocations.clear()
        cupy.get_default_memory_pool().free_all_blocks()


def memory_row(one):
    """Row of the memory that a run takes on a GPU, sampled after every step."""
    walked(one, one.options._replace(iterations=1))
    one.workspace.close()
    release(one.device)
    before, least = devices.free_memory(one.device), []
    walked(one, one.options, progress=lambda *_: least.append(devices.free_memory(one.device)))
    taken = before - min(least)
    release(one.device)
    note = f"{taken / 1e9:.2f} GB, the basis among it; with what numba and cupy keep"
    return Row(
        "device memory of an imputation",
        one.name,
        one.data,
        [taken / one.graph.tensor.nbytes],
        "copies of the tensor",
        note,
    )


BENCHES = {"impute-speed": speed}
