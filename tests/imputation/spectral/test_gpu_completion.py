"""The GPU completion in the simulator, numpy instead of cupy, against the CPU completion."""

import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from support import SIMULATED

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:.*encountered")]

from gpukit._cuda import cuda
from gpukit.device.workspace import Workspace
from gpukit.graphs.basis import Basis, vectors_on_gpu
from gpukit.imputation.spectral import gpu
from gpukit.imputation.spectral.cpu import TensorCompletion as OnCpu
from gpukit.svt import products
from gpukit.svt.gpu import scratch_for
from gpukit.svt.products import GpuTools
from imputation import naive_algorithm
from imputation.inputs import completed, problem

KINDS = ("slices", "entries")


class Number:
    """Result of a cupy reduction: only float() copies it to the host."""

    def __init__(self, value):
        self.value = float(value)

    def __float__(self):
        return self.value

    def __neg__(self):
        return Number(-self.value)

    def __lt__(self, other):
        return float(self) < float(other)

    def __gt__(self, other):
        return float(self) > float(other)

    def __le__(self, other):
        return not self > other

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


class Array(np.ndarray):
    """A numpy array with cupy's additional attributes."""

    def max(self, axis=None, **options):
        found = super().max(axis, **options)
        return Number(found) if axis is None else found

    def min(self, axis=None, **options):
        found = super().min(axis, **options)
        return Number(found) if axis is None else found

    def get(self):
        return np.array(self)

    def set(self, values):
        self[...] = values


class Library:
    """numpy in cupy's place: its functions give Arrays."""

    asnumpy = staticmethod(np.array)

    @staticmethod
    def get_default_memory_pool():
        return SimpleNamespace(used_bytes=lambda: 0, free_all_blocks=lambda: None)

    def __getattr__(self, name):
        found = getattr(np, name)
        if isinstance(found, type) or not callable(found):
            return found

        def run(*arguments, **options):
            result = found(*arguments, **options)
            return result.view(Array) if isinstance(result, np.ndarray) else result

        return run


@pytest.fixture
def stand_in(monkeypatch):
    if not SIMULATED:
        pytest.skip("on a GPU test_gpu.py has the same with cupy itself")
    replace_cupy(monkeypatch, gpu)


def replace_cupy(monkeypatch, *modules):
    """Let numpy take cupy's place in modules and in gpukit.svt's tools; two blocks of 32 threads in launches."""

    def shared(array):
        return cuda.cudadrv.devicearray.FakeCUDAArray(np.asarray(array))

    for module in modules:
        monkeypatch.setattr(module, "array_library", Library)
        monkeypatch.setattr(module, "shared", shared)
    monkeypatch.setattr(products, "array_library", Library)
    monkeypatch.setattr(GpuTools, "product", staticmethod(np.matmul))
    monkeypatch.setattr(GpuTools, "shared", staticmethod(shared))
    monkeypatch.setattr(gpu.TensorCompletion, "n_sums", 2)
    monkeypatch.setattr(gpu.kernels, "THREADS", 32)  # test_kernels.py has all of them


def problem_of(kind):
    """Return a tensor of 9 vertices."""
    return problem((4, 3), kind, 9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scratch, scale", [(1 << 20, 1.0), (40, 1.0)])
def test_both_devices_agree(kind, scratch, scale, stand_in, monkeypatch):
    monkeypatch.setattr(gpu, "SCRATCH", scratch)
    case = problem_of(kind)
    observed = scale * naive_algorithm.observed_only(case.truth, case.mask)
    there, here = (
        completion(Basis(case.mu, case.U, True), observed, case.mask, np.dtype(np.float64))
        for completion in (gpu.TensorCompletion, OnCpu)
    )
    first = here.largest()
    np.testing.assert_allclose(there.largest(), first, rtol=1e-10)
    for share, momentum in ((0.6, 0.0), (0.3, 0.2)):
        expected, found = (completion.step(share * first, None, momentum) for completion in (here, there))
        np.testing.assert_allclose(found[:2], expected[:2], rtol=1e-8)
        np.testing.assert_array_equal(found[2], expected[2])
    cap = np.arange(len(first), dtype=np.int32) % 3
    for completion in (here, there):
        completion.step(np.zeros(len(first)), cap, 0.4)
    np.testing.assert_allclose(there.missing(), here.missing(), atol=1e-10 * scale)
    assert not any(np.shares_memory(completion.missing(), completion.now) for completion in (here, there))
    np.testing.assert_allclose(there.spectrum(2), here.spectrum(2), atol=1e-10 * scale)
    np.testing.assert_allclose(completed(there), completed(here), atol=1e-10 * scale)


def held(references):
    gc.collect()
    return [reference for reference in references if reference() is not None]


@pytest.mark.slow
def test_completions_of_a_run_share_buffers(stand_in):
    case, references = problem_of("slices"), []
    observed = naive_algorithm.observed_only(case.truth, case.mask)
    basis = Basis(case.mu, case.U, True)
    with Workspace() as workspace:
        for _ in range(2):
            completion = gpu.TensorCompletion(basis, observed, case.mask, np.dtype(np.float32), workspace)
            completion.step(0.3 * completion.largest())
            scratch = scratch_for((len(case.truth), 4, 3), np.float32, 1, 1, workspace)
            references.append([weakref.ref(array) for array in (scratch[0].buffers.V, vectors_of(workspace, basis))])
            del completion, scratch
        assert references[0] == references[1] and held(references[0]) == references[0]
    assert not held(references[0])


def vectors_of(workspace, basis):
    """Return the basis's vectors in the workspace."""
    return vectors_on_gpu(basis.vectors, np.float32, gpu.to_cupy_array, workspace)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (3, 5)])
def test_vectors_arrive_in_their_order_and_in_another_type(shape, order, stand_in):
    array = np.asarray(np.random.default_rng(0).normal(size=shape), order=order)
    there = gpu.to_cupy_array(array, np.dtype(np.float32))
    assert there.dtype == np.float32 and there.flags[f"{order}_CONTIGUOUS"]
    np.testing.assert_array_equal(there, array.astype(np.float32))
