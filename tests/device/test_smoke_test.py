"""Smoke test of a GPU: a kernel is compiled, run and compared; an error is one line."""

import numpy as np
import pytest

from gpukit.device import kernels, twins

pytestmark = pytest.mark.kernel


def test_a_gpu_that_works():
    assert kernels.failure(0) is None


@pytest.mark.parametrize(
    "error, line",
    [
        (
            RuntimeError("ERROR_INTERNAL (6)\n\nLinker error log: may need newer\n"),
            "RuntimeError: ERROR_INTERNAL (6); Linker error log: may need newer",
        ),
        (MemoryError(), "MemoryError"),
    ],
)
def test_an_error_is_one_line(monkeypatch, error, line):
    def broken(function):
        raise error

    monkeypatch.setattr(kernels.cuda, "jit", broken)
    assert kernels.failure(0) == line


def test_a_wrong_result_is_an_error(monkeypatch):
    monkeypatch.setattr(kernels.np, "arange", lambda n: np.ones(n))
    assert kernels.failure(0).startswith("it gave [0, 1, 2, 3]")


def test_kernel_and_twin_agree():
    from support import launch

    from gpukit.device.kernels import number_threads

    first, second = np.full(33, -1, np.int32), np.full(33, -1, np.int32)
    launch(number_threads, 1, 33, first)
    twins.number_threads(second)
    assert first.tolist() == second.tolist() == list(range(33))
