"""Tensors that do not fit in GPU memory: the blocks that travel, and the results, against those of resident ones."""

import functools
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from support import SIMULATED

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:.*encountered")]

from gpukit.errors import DeviceMemoryError
from gpukit.graphs.basis import Basis
from gpukit.imputation.spectral import gpu
from gpukit.imputation.spectral.path import Options
from gpukit.imputation.spectral.run import Place, Setting, impute
from gpukit.svt import gpu as blocks
from gpukit.svt import subspace
from gpukit.svt.plan import Resident
from gpukit.svt.products import CpuTools, GpuTools
from imputation import naive_algorithm
from imputation.distributed.test_gpu import GPU, walked
from imputation.inputs import problem
from imputation.spectral.test_gpu_completion import Library, replace_cupy


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    if not SIMULATED:
        pytest.skip("numpy takes cupy's place in the simulator only")
    replace_cupy(monkeypatch, gpu)


@pytest.fixture
def lapack(monkeypatch):
    """Thresholding by numpy, for whole slices and the matrices of subspaces: the kernels have their own tests."""

    def thresholding(self, X, lam, cap, whole):
        def start():
            U, S, V = np.linalg.svd(X, full_matrices=False)
            is_kept = (S > lam[:, None]) & (np.arange(S.shape[1]) < cap[:, None])
            X[...] = (U * np.where(is_kept, S - lam[:, None], 0)[:, None]) @ V
            ranks = is_kept.sum(axis=1).astype(np.int32)
            return lambda: (S, ranks)

        return start

    monkeypatch.setattr(GpuTools, "thresholding", thresholding)
    monkeypatch.setattr(GpuTools, "values", lambda self, X: np.linalg.svd(X, compute_uv=False))
    monkeypatch.setattr(GpuTools, "whiten", CpuTools().whiten)


class Stream:
    """A stream that runs its copies as late as it may."""

    def __init__(self):
        self.queue, self.done = [], 0

    def run(self, end):
        while self.done < end:
            self.done += 1
            self.queue[self.done - 1]()

    def synchronize(self):
        self.run(len(self.queue))


class Event:
    """An event of Streams; None: the default stream, which never waits."""

    stream, end = None, 0

    def record(self, stream=None):
        self.stream, self.end = stream, len(stream.queue) if stream else 0

    def wait(self, stream=None):
        recorded, end = self.stream, self.end
        if recorded and stream:
            stream.queue.append(lambda: recorded.run(end))
        elif recorded:
            recorded.run(end)


@pytest.fixture(params=["early", "late"])
def copies(request, monkeypatch):
    """Copies run when they are queued, or when something waits for them."""
    if request.param == "late":
        copy = blocks.copy_rows
        monkeypatch.setattr(blocks, "side_stream", lambda: (Stream(), None))
        monkeypatch.setattr(blocks, "cuda", SimpleNamespace(event=Event, pinned_array=np.empty))
        monkeypatch.setattr(
            blocks,
            "copy_rows",
            lambda source, target, stream: stream.queue.append(lambda: copy(source, target, stream)),
        )


def completion_at(place, case, dtype, observed=None):
    """Return a completion whose arrays are at a place."""
    observed = naive_algorithm.observed_only(case.truth, case.mask) if observed is None else observed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu.TensorCompletion, "place_arrays", staticmethod(lambda *_: place))
        return gpu.TensorCompletion(Basis(case.mu, case.U, True), observed, case.mask, np.dtype(dtype))


def streamed_completion(case, dtype, columns, slices, observed=None):
    """Return a completion that travels; columns, slices: the most of a block."""
    N, m, n = case.truth.shape
    size = max(columns * (32 * N + N), 2 * slices * 8 * m * n)
    return completion_at(blocks.Travelling(Library(), size, columns, slices), case, dtype, observed)


def resident_completion(*given):
    """Return a completion whose arrays stay on the GPU."""
    return completion_at(Resident(Library()), *given)


def assert_same(streamed, resident, dtype):
    exact = 1e-10 if dtype == np.float64 else 1e-5
    for one, expected in zip(streamed, resident, strict=True):
        assert np.shape(one) == np.shape(expected)
        np.testing.assert_allclose(one, expected, rtol=exact, atol=exact * np.abs(expected).max())


BLOCKS = [  # of 21 columns and 10 slices: some are smaller than others, of one, all
    (5, 4, "entries"),
    (21, 1, "slices"),
    (1, 10, "one entry"),
    (2, 3, "both"),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns, slices, kind", BLOCKS)
def test_blocks_give_the_resident_answer(columns, slices, kind, dtype, lapack, copies):
    streamed = streamed_completion(problem_of(kind), dtype, columns, slices)
    assert len(streamed.parts) == -(-21 // columns) and len(streamed.thresholds.parts) == -(-10 // slices)
    assert type(streamed.Z) is type(streamed.C) is type(streamed.now) is np.ndarray
    assert_same(walked(streamed), resident_answer(kind, dtype), dtype)


def problem_of(kind):
    return problem((7, 3), kind, 10, rank=2)


@functools.cache
def resident_answer(kind, dtype):
    """Return the answer of a resident completion, which has no blocks and copies; by lapack."""
    return walked(resident_completion(problem_of(kind), dtype))


@pytest.mark.parametrize("dtype, factor", [(np.float32, 1.0), (np.float64, 1e-200)])
@pytest.mark.parametrize("columns, slices", [(50, 3), (272, 1)])
def test_subspaces_travel_too(columns, slices, dtype, factor, lapack, copies, monkeypatch):
    """Slices of the subspace's rank, and some of a larger one; from the last basis and from a new one."""
    monkeypatch.setattr(subspace, "pays", lambda shape, on_gpu: True)
    case, observed = noisy_problem(factor)
    streamed = streamed_completion(case, dtype, columns, slices, observed)
    found, (expected, calls) = [*walked(streamed), *walked(streamed)], resident_subspaces(dtype, factor)
    assert type(streamed.thresholds.subspace.basis) is np.ndarray
    assert streamed.thresholds.subspace.calls == calls > 4
    assert_same(found, expected, dtype)


def noisy_problem(factor):
    """Return a problem, and its observed values with noise, times a factor."""
    case = problem((17, 16), "both", 10, rank=2)
    observed = naive_algorithm.observed_only(case.truth, case.mask)
    observed += 0.1 * factor * np.random.default_rng(0).normal(size=observed.shape) * (observed != 0)
    return case, factor * observed


@functools.cache
def resident_subspaces(dtype, factor):
    """Return the answer of a resident completion by subspaces, and the number of its calls of one."""
    case, observed = noisy_problem(factor)
    resident = resident_completion(case, dtype, observed)
    return [*walked(resident), *walked(resident)], resident.thresholds.subspace.calls


def test_kernels_threshold_blocks():
    case = problem((4, 3), "entries", 5)
    streamed, resident = streamed_completion(case, np.float64, 5, 2), resident_completion(case, np.float64)
    assert_same(walked(streamed), walked(resident), np.float64)


def imputed(case, limit, monkeypatch):
    """Return the estimate of a short path with a limit of the GPU's memory, in bytes."""
    monkeypatch.setenv("GPUKIT_GPU_MEMORY", str(limit))
    place = Place(Basis(case.mu, case.U, True), GPU, np.dtype(np.float64))
    setting = Setting("slice", 1.0, "entry", Options(4, rank_iterations=3))
    return impute(place, setting, naive_algorithm.observed_only(case.truth, case.mask), case.mask).estimate


@pytest.mark.filterwarnings("error:The tensor")
def test_the_memory_decides(lapack, monkeypatch):
    """Resident, streamed with one warning, refused in one line."""
    case = problem((10, 12), "entries", 20, rank=2)
    expected = imputed(case, 1 << 30, monkeypatch)
    with pytest.warns(UserWarning) as warned:
        found = imputed(case, 150_000, monkeypatch)
    assert_same([found], [expected], np.float64)
    pattern = r"The tensor does not fit in GPU memory: 0\.\d+ GB stream from main memory in each iteration\."
    assert [str(warning.message) for warning in warned if re.fullmatch(pattern, str(warning.message))]
    with pytest.raises(DeviceMemoryError, match=r"^Imputing 20 slices of 10 x 12, streamed .* needs .* GiB on cuda:0"):
        imputed(case, 10_000, monkeypatch)


@pytest.mark.parametrize("sizes, limit", [((400, 300, 100), 4_000_000), ((9000, 300, 5), 12_000_000)])
def test_a_block_is_within_the_memory(sizes, limit, monkeypatch):
    """Buffers and the work on a block take what is free; a slice or column more would not fit.

    Where few of many vertices are incomplete, a block of slices is larger than one of columns.
    """
    (N, K, rows), dtype = sizes, np.dtype(np.float32)
    monkeypatch.setenv("GPUKIT_GPU_MEMORY", str(limit))
    with pytest.warns(UserWarning, match="does not fit"):
        arrays = gpu.place_arrays(sizes, (30, 20), dtype, True)
    free = limit - limit // 8 - K * rows * 4
    column, (basis, work, _) = 2 * (K + rows) * 4 + rows, subspace.work_of((K, 30, 20), dtype)
    for one, count, most in ((3 * column + 4 * N, arrays.columns, 600), (max(3 * 2400, work), arrays.slices, K)):
        assert one * count <= free / 2 and (count == most or free / 2 - one < one * count)
    blocks_of = column * arrays.columns, 2400 * arrays.slices
    assert basis == 0 and arrays.buffers[0].size >= max(blocks_of) == blocks_of[N > 400]


def test_what_fits_is_resident(monkeypatch):
    """A byte less, and the tensor streams."""
    arguments = (40, 30, 10), (30, 20), np.dtype(np.float32), True
    needed = gpu.memory_needed(*arguments)[0]
    for spare, expected in ((needed, Resident), (needed - 1, blocks.Travelling)):
        monkeypatch.setattr(GpuTools, "spare_memory", lambda self, spare=spare: spare)
        monkeypatch.setattr(gpu.devices, "require_memory", lambda *arguments: None)
        with warnings.catch_warnings(record=True) as warned:
            assert type(gpu.place_arrays(*arguments)) is expected
        assert len(warned) == (expected is not Resident)
