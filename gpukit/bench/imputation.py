"""Benchmarks of the imputation's speed. Each is a function of a Setting that yields record.Rows.

Answers are checked against Algorithm 1 as a plain loop of numpy's, on thinner slices of the same graph, and against the
truth: the data are generated.
"""

import gc
import importlib.util
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit.bench.record import Row
from gpukit.bench.setting import shape_name
from gpukit.bench.svt import expected
from gpukit.bench.timing import gpu_milliseconds, milliseconds, seconds
from gpukit.datasets import synth_graph
from gpukit.errors import DataError
from gpukit.imputation.basis import fourier_basis
from gpukit.imputation.estimator import GraphImputer
from gpukit.imputation.fitting import Options, fit_path
from gpukit.imputation.graphs import as_adjacency
from gpukit.imputation.running import session_class

MISSING = 0.2  # of the slices
ITERATIONS, DECAY = 20, 0.7  # the paper's number of steps; it does not give its decay
PAPERS_OWN = Options(ITERATIONS, DECAY, 0.0, accelerate=False, rank_phase=False)
REACHED = 0.008  # the paper's relative error on ego-Facebook with 20 % missing: Table 3
THIN, FEW = 6, 4  # rows and columns of the slices, and steps, that the plain loop checks
CLOSE = 1e-3  # relative: float32 against the loop in float64
RECOVERED = 0.6  # of the zero-filled tensor's error, at most what 20 steps leave
ROOM = 30e9  # bytes of a device that the largest shape wants
LOOPED = 2  # steps of the loop over numpy.linalg.svd that are measured
SAME = 1e-4  # relative: slices thresholded in float32, some libraries' by an approximate decomposition 1e-2
APPROXIMATE = 1e-2
OURS, HALF = "gpukit", ITERATIONS // 2
ONE_BY_ONE = 100  # slices decomposed one after another that are measured


class Shape(NamedTuple):
    """vertices; rows and columns of a slice; rank; paper: seconds of its GPU code, and of what it compares with."""

    vertices: int
    side: int
    rank: int
    paper: str


SHAPES = {
    "ego-facebook": Shape(4039, 50, 5, "the paper's RTX6000 6.75 s, its baseline 522 s, MATLAB 1,052 s"),
    "64x64x2100": Shape(2100, 64, 6, "the paper's RTX6000 2.47 s, its baseline 149.54 s"),
    "512x512x2600": Shape(2600, 512, 51, "the paper's RTX6000 (24 GB): out of memory"),
}
LADDERS = ("ego-facebook", "64x64x2100")


class Case(NamedTuple):
    """What is imputed: graph (GraphTensor with its truth), basis, name and data of the rows, device, the paper's
    figures for a note."""

    graph: object
    basis: object
    name: str
    data: str
    device: object
    paper: str


def ego_facebook(folder):
    """(adjacency or None, what the data are): ego-Facebook's edges, where the folder of real data has them."""
    path = Path(folder or "") / "ego-Facebook" / "facebook_combined.txt"
    if folder is None or not path.exists():
        return None, "generated"
    return as_adjacency((np.loadtxt(path, dtype=np.int64), None)), "real graph"


def graph_of(like, setting, vertices):
    """(adjacency, what the data are); a share of ego-Facebook is generated."""
    real = like == "ego-facebook" and setting.scale == 1
    adjacency, data = ego_facebook(setting.data) if real else (None, "generated")
    if adjacency is None:
        kind = "ego-facebook" if like == "ego-facebook" else "random"
        adjacency = synth_graph(kind, vertices, (1, 1), 1, 0.0).adjacency
    return adjacency, data


def case(like, setting):
    """The Case of a shape."""
    vertices, side, rank, paper = SHAPES[like]
    adjacency, data = graph_of(like, setting, max(2, round(setting.scale * vertices)))
    basis = fourier_basis(adjacency, device=setting.device)  # on disk from here on: the generator takes the same
    graph = synth_graph(adjacency=adjacency, shape=(side, side), rank=rank, missing=MISSING)
    name = shape_name(f"{like} {side}x{side}" if "x" not in like else like, setting.scale)
    return Case(graph, basis, name, data, setting.device, f"; {paper}" if setting.scale == 1 else "")


def prepared(case, basis=None, tensor=None):
    """A session, on its device, of the tensor of a Case, or of another one."""
    tensor = case.graph.tensor if tensor is None else tensor
    basis = case.basis if basis is None else basis
    return session_class(case.device)(basis, tensor, case.graph.mask, np.dtype(np.float32))


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


def speed(setting):
    """Whole runs: 20 iterations with the basis at hand and computed, to the paper's accuracy, beside a plain loop."""
    usual = usual_shapes(setting.device)
    for like in setting.among(usual, [name for name in SHAPES if name not in usual]):
        one = case(like, setting)
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
        release()


def usual_shapes(device):
    """The shapes that a device has room for."""
    large = device.is_cuda and devices.free_memory(device) > ROOM
    return tuple(SHAPES) if large else LADDERS


def steps_rows(one):
    """Row of the paper's 20 iterations; returns its samples."""
    times, session = timed(one, lambda: walked(one, PAPERS_OWN))
    error = recovered(one, session)
    note = (f"basis in memory; tensor and basis's copy to the device, first thresholds and {ITERATIONS} steps counted; "
            f"relative error {error:.4f}{one.paper}")
    if one.device.is_cuda:
        note = note.replace("tensor and basis's copy to the device", "upload of the tensor (the basis is there)")
    yield Row(f"{ITERATIONS} iterations, basis cached", one.name, one.data, times, "s", note)
    return times


def basis_row(one):
    """Row of the same with the basis computed."""
    def run():
        basis = fourier_basis(one.graph.adjacency, device=one.device, cache=False)
        return walked(one, PAPERS_OWN, basis)

    times, session = timed(one, run)
    return Row(f"{ITERATIONS} iterations, basis computed", one.name, one.data, times, "s",
               f"eigenvectors of the Laplacian counted; relative error {recovered(one, session):.4f}")


def accuracy_rows(one):
    """Rows of the iterations by default, until they end, and of the whole GraphImputer.fit."""
    most = REACHED if one.data == "real graph" else None
    taken = []
    times, session = timed(one, lambda: walked(one, Options(), progress=lambda *told: taken.append(told[0])))
    steps = len(taken) // sum(turns(one.device))
    yield Row("iterations by default, basis cached", one.name, one.data, times, "s",
              f"{steps} steps, relative error {recovered(one, session, most):.5f}; the paper's {REACHED}")
    del session
    model = GraphImputer(device=str(one.device).split()[0])
    graph = one.graph
    times = seconds(lambda: model.fit(graph.adjacency, graph.tensor, graph.mask), *turns(one.device))
    parts = ", ".join(f"{name} {part:.3f} s" for name, part in model.stages_.items())
    error = relative(model.completed_, graph.truth)
    yield Row("GraphImputer.fit by default", one.name, one.data, times, "s",
              f"basis from disk, weights chosen on hidden data ({model.weights_}), confidence; {parts}; "
              f"relative error {error:.5f}")


def loop_rows(one, own):
    """Rows of the loop over numpy.linalg.svd, a few steps of it, and how many times longer it takes."""
    vectors = one.basis.vectors.astype(np.float32)
    steps = plain_loop(vectors, one.graph.tensor, one.graph.mask, LOOPED)
    samples = [ITERATIONS * taken for taken, _ in steps]
    note = f"the whole transform both ways, float32; {LOOPED} steps measured, times {ITERATIONS}"
    yield Row(f"{ITERATIONS} iterations by a loop over numpy.linalg.svd", one.name, one.data, samples, "s", note)
    times = [float(sample / own) for sample in samples]
    yield Row("the loop over numpy.linalg.svd against gpukit", one.name, one.data, times, "times",
              "their seconds over gpukit's median for 20 iterations, basis cached, in one run")


def release():
    """Give back what the device's pools and this process keep."""
    gc.collect()
    if devices.gpu_count():
        from gpukit._cuda import cuda

        cuda.current_context().deallocations.clear()
    if importlib.util.find_spec("cupy") is not None:
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()


def memory_row(one):
    """Row of the memory that a run takes on a GPU, sampled after every step."""
    walked(one, PAPERS_OWN._replace(iterations=1))
    release()
    before, least = devices.free_memory(one.device), []
    walked(one, PAPERS_OWN, progress=lambda *_: least.append(devices.free_memory(one.device)))
    taken = before - min(least)
    release()
    note = f"{taken / 1e9:.2f} GB above what was there, the basis among it; with the blocks that the pool keeps"
    return Row("device memory of an imputation", one.name, one.data, [taken / one.graph.tensor.nbytes],
               "copies of the tensor", note)


def ladder(setting):
    """The paper's ladder: one decomposition after another, batched, ours; a thresholding pass and an iteration."""
    for like in setting.among(LADDERS):
        one = case(like, setting)
        samples, Z, lam = halfway(one)
        transform = transform_milliseconds(one, Z)
        for name, own, note in passes(Z, lam, one.device):
            yield Row(f"a thresholding pass, {name}", one.name, one.data, own, "ms", note)
            if name != OURS:
                yield Row(f"an iteration, {name}", one.name, one.data, [transform + sample for sample in own], "ms",
                          f"that, and the whole transform both ways, {transform:.3g} ms{one.paper}")
        yield Row(f"an iteration, {OURS}", one.name, one.data, samples, "ms",
                  f"transform of what is missing, thresholding, back; step {HALF + 1} of {ITERATIONS}")
        release()


def halfway(one):
    """([milliseconds] of a step halfway down the path, its slices (N, m, n), their thresholds (N,))."""
    session = walked(one, PAPERS_OWN._replace(iterations=HALF))
    lam = DECAY**HALF * prepared(one).largest()
    completed = session.completed()
    Z = (one.basis.vectors.T.astype(np.float32) @ completed.reshape(len(completed), -1)).reshape(completed.shape)
    samples = milliseconds(lambda: session.step(lam), 7 if one.device.is_cuda else 3)
    return samples, Z, lam.astype(np.float32)


def library(device):
    """(numpy or cupy, its name, the function that times on its device)."""
    if not device.is_cuda:
        return np, "numpy.linalg.svd", milliseconds
    import cupy

    return cupy, "cupy.linalg.svd", gpu_milliseconds


def transform_milliseconds(one, Z):
    """Milliseconds of U' G and U Z, the whole of both."""
    xp, _, clock = library(one.device)
    vectors, flat = xp.asarray(one.basis.vectors.astype(np.float32)), xp.asarray(Z.reshape(len(Z), -1))
    return float(np.median(clock(lambda: vectors @ (vectors.T @ flat), 5)))


def passes(Z, lam, device):
    """(name, milliseconds, note) of every way to threshold the slices of Z (N, m, n), each checked."""
    yield "one SVD after another", *one_by_one(Z, lam, device)
    if device.is_cuda and importlib.util.find_spec("torch") is not None:
        yield "batched SVD", *batched_by_torch(Z, lam, device)
    else:
        yield "batched SVD", *batched(Z, lam, device)
    yield OURS, *ours(Z, lam, device)


def check_slices(Z, lam, found, bound):
    """Raise DataError unless a few thresholded slices are LAPACK's."""
    some = np.linspace(0, len(found) - 1, min(4, len(found)), dtype=int)
    error = relative(found[some], expected(Z[some], lam[some]))
    if not error <= bound:
        raise DataError(f"the benchmark's slices are off by {error:.1e}, more than {bound:g}.")


def formed(xp, factors, lam):
    """U (S - lam)+ V of one matrix or of many."""
    U, S, V = factors
    return (U * xp.maximum(S - lam[..., None], 0)[..., None, :]) @ V


def one_by_one(Z, lam, device):
    """(milliseconds, note) of one decomposition after another, as the paper's baseline, of some slices."""
    xp, name, clock = library(device)
    count = min(ONE_BY_ONE, len(Z))
    there, bounds = xp.asarray(Z[:count]), xp.asarray(lam[:count])
    out = xp.empty_like(there)

    def loop():
        for k in range(count):
            out[k] = formed(xp, xp.linalg.svd(there[k], full_matrices=False), bounds[k])

    samples = [len(Z) / count * sample for sample in clock(loop, 3)]
    check_slices(Z, lam, on_host(out), SAME)
    return samples, f"{name}, {count} slices measured, times {len(Z) / count:g}"


def batched(Z, lam, device):
    """(milliseconds, note) of the library's decomposition of all slices in one call."""
    xp, name, clock = library(device)
    there, bounds, kept = xp.asarray(Z), xp.asarray(lam), []

    def once():
        kept[:] = [formed(xp, xp.linalg.svd(there, full_matrices=False), bounds)]

    samples = clock(once, 3)
    check_slices(Z, lam, on_host(kept[0]), SAME)
    return samples, f"{name} of all slices in one call"


def batched_by_torch(Z, lam, device):
    """(milliseconds, note) of torch's fastest batched driver, which is approximate."""
    import torch

    there, bounds = (torch.from_numpy(array).to(f"cuda:{device.index}") for array in (Z, lam))
    kept = []

    def once():
        U, S, V = torch.linalg.svd(there, full_matrices=False, driver="gesvda")
        kept[:] = [(U * (S - bounds[:, None]).clamp(min=0)[:, None, :]) @ V]

    samples = gpu_milliseconds(once, 3)
    check_slices(Z, lam, kept[0].cpu().numpy(), APPROXIMATE)
    return samples, "torch.linalg.svd gesvda of all slices in one call"


def ours(Z, lam, device):
    """(milliseconds, note) of gpukit.svt."""
    if device.is_cuda:
        from gpukit._cuda import cuda
        from gpukit.svt import gpu as svt

        there, bounds, out = cuda.to_device(Z), cuda.to_device(lam), cuda.device_array(Z.shape, Z.dtype)
        clock, repeat = gpu_milliseconds, 21
    else:
        from gpukit.svt import cpu as svt

        there, bounds, out, clock, repeat = Z, lam, np.empty_like(Z), milliseconds, 3
    samples = clock(lambda: svt.threshold(there, bounds, out), repeat)
    check_slices(Z, lam, on_host(out), SAME)
    return samples, "all slices, exact"


def on_host(array):
    """An array of any library, on the host."""
    for method in ("copy_to_host", "get"):
        if hasattr(array, method):
            return getattr(array, method)()
    return array


BENCHES = {"impute-speed": speed, "impute-ladder": ladder}
