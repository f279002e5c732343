"""Message with sizes for a GPU out of memory in fit."""

import numpy as np
import pytest

from gpukit import GraphImputer
from gpukit.device import Device, memory
from gpukit.errors import DeviceMemoryError
from gpukit.graphs import basis
from gpukit.imputation import run
from imputation.inputs import problem

GPU = Device("cuda", 0, "a GPU", (9, 0))


class CupysError(MemoryError):
    """Like cupy.cuda.memory.OutOfMemoryError."""


def fail(*arguments, **options):
    raise CupysError("Out of memory allocating 3,221,225,472 bytes (allocated so far: 512 bytes).")


@pytest.mark.parametrize(
    "module, step, what",
    [
        (basis, "fourier_basis", "The Fourier basis of 30 vertices"),
        (run, "decide", "The imputation"),
        (run, "impute", "The imputation"),
    ],
)
def test_a_line_with_sizes(module, step, what, monkeypatch):
    monkeypatch.setattr(memory, "_free_on_gpu", lambda: 1 << 30)
    monkeypatch.setattr(basis, "fourier_basis", lambda *arguments, **options: None)
    monkeypatch.setattr(run, "decide", lambda *arguments: (None, []))
    monkeypatch.setattr(module, step, fail)
    case = problem((3, 2))
    model = GraphImputer(method="spectral", device=GPU)
    with pytest.raises(DeviceMemoryError, match=rf"{what} ran out of memory on cuda:0 .*3\.00 GiB .*1\.00 GiB free"):
        model.fit(case.A, case.truth, case.mask)
    assert not hasattr(model, "completed_") and np.isfinite(case.truth).all()
