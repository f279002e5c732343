"""Peak memory of a fit on a large graph, in a process of its own."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

FIT = """
import re
import sys
from pathlib import Path

import numpy as np

from gpukit import GraphImputer

SIDE, COLUMNS = 500, 24
rng, number = np.random.default_rng(0), np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
pairs = (number[:, :-1], number[:, 1:]), (number[:-1], number[1:])
edges = np.concatenate([np.column_stack((one.ravel(), other.ravel())) for one, other in pairs])
values = np.sin(number.reshape(-1, 1) / 40 + np.arange(COLUMNS) / 4) + 0.3 * rng.normal(size=(SIDE * SIDE, COLUMNS))
values[rng.random(values.shape, np.float32) < 0.2] = np.nan


def fit(vertices):
    few = edges[(edges < vertices).all(axis=1)]
    GraphImputer(method=sys.argv[1], device="cpu").fit((few, None), values[:vertices], times=np.arange(COLUMNS))


def memory(name):
    # not that of getrusage, which includes the process that has started this one
    return 1024 * int(re.search(rf"{name}:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])


fit(400)  # what is imported and compiled
Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
before = memory("VmRSS")
fit(len(values))
print((memory("VmHWM") - before) / values.nbytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("method, most", [("interpolation", 7.5), ("vertex-median", 7.5)])
def test_a_fit_needs_a_few_times_the_memory_of_the_data(method, most):
    """The data are 48 MB; the samples that methods are judged on have the same size for any data."""
    done = subprocess.run([sys.executable, "-c", FIT, method], capture_output=True, text=True, check=True)
    assert float(done.stdout) < most
