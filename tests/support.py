"""Shared test functions: launches on numpy arrays, real data, the error budget."""

import contextlib
import copy
import functools
import importlib.util
import itertools
import os
from pathlib import Path

import numpy as np
import pytest

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
SLOW = pytest.mark.slow
EPS32 = float(np.finfo(np.float32).eps)


def thinned(*axes, share=3):
    """Return the cases of a grid for pytest.mark.parametrize: one in `share` is fast, the others are slow.

    Each value of an axis occurs in the fast cases with some of each other axis that has `share` values or more.
    """
    grid = itertools.product(*map(enumerate, axes))
    return [
        pytest.param(*[value for _, value in case], marks=() if sum(at for at, _ in case) % share == 0 else SLOW)
        for case in grid
    ]


def load_script(path):
    """Return a script of the repository, such as docs/build.py, as a module."""
    path = Path(__file__).parents[1] / path
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def launch(kernel, grid, block, *arguments):
    """Run kernel[grid, block] on copies of the numpy arrays among the arguments; copy the results back in place.

    Works on a GPU and in the simulator, also with named tuples of arrays. Read-only arrays are not copied back.
    """
    from gpukit._cuda import cuda

    pairs = []
    kernel[grid, block](*[_on_device(argument, pairs) for argument in arguments])
    cuda.synchronize()
    for host, device in pairs:
        if host.flags.writeable:
            device.copy_to_host(host)


def small_launches(monkeypatch):
    """Two blocks of 32 threads for launches with any grid; radix sorts by their twins.

    In the simulator a thread costs as much as a rating, and a pass of a sort has tens of thousands of threads.
    """
    from gpukit.device import gpu_arrays
    from gpukit.primitives.group import gpu as group

    if SIMULATED:
        monkeypatch.setattr(gpu_arrays, "BLOCKS_A_PROCESSOR", 2)
        monkeypatch.setattr(gpu_arrays, "BLOCK", 32)
        monkeypatch.setattr(group, "GRID", 2)
        monkeypatch.setattr(group, "BLOCK", 32)
        sort_by_twins(monkeypatch)


class Twin:
    """A kernel's twin in its place."""

    def __init__(self, twin):
        self.twin = twin

    def __getitem__(self, shape):
        return self

    def __call__(self, *arguments):
        from cudasim import plain

        self.twin(*map(plain, arguments))


def sort_by_twins(monkeypatch):
    """Replace the kernels of the radix sort, which tests/primitives tests, by their twins."""
    from gpukit.primitives.group import kernels, twins

    def scatter(keys, payload, *others, paired):
        twins.scatter_digits(keys, payload if paired else payload[:0], *others)

    monkeypatch.setattr(kernels, "count_digits", Twin(twins.count_digits))
    monkeypatch.setattr(kernels, "scan_digits", Twin(twins.scan_digits))
    monkeypatch.setattr(kernels, "make_scatter_digits", lambda paired: Twin(functools.partial(scatter, paired=paired)))


def _on_device(argument, pairs):
    """Return the argument with copies in place of its numpy arrays; append each (array, copy) to pairs."""
    from gpukit._cuda import cuda

    if hasattr(argument, "_fields"):
        return type(argument)(*[_on_device(field, pairs) for field in argument])
    if not isinstance(argument, np.ndarray):
        return argument
    pairs.append((argument, cuda.to_device(argument)))
    return pairs[-1][1]


def launch_repeatably(kernel, grid, block, *arguments):
    """`launch` twice on the same numbers; all bits must be equal.

    In the simulator the second run reverses the order of blocks and threads; on a GPU the order varies. A difference
    indicates a race in a kernel that is documented as deterministic.
    """
    again = copy.deepcopy(arguments)
    launch(kernel, grid, block, *arguments)
    with threads_reversed():
        launch(kernel, grid, block, *again)
    for number, pair in enumerate(zip(arguments, again)):
        for first, second in zip(*(argument if hasattr(argument, "_fields") else [argument] for argument in pair)):
            places = np.flatnonzero(bits_differ(first, second)) if isinstance(first, np.ndarray) else []
            assert not len(places), f"argument {number} depends on the order of threads, first at {places[0]}"


@contextlib.contextmanager
def threads_reversed():
    """Reverse the simulator's order of blocks and threads."""
    before = os.environ.get("GPUKIT_SIM_ORDER")
    os.environ["GPUKIT_SIM_ORDER"] = "forward" if before == "reversed" else "reversed"
    try:
        yield
    finally:
        os.environ.pop("GPUKIT_SIM_ORDER")
        if before is not None:
            os.environ["GPUKIT_SIM_ORDER"] = before


def bits_differ(one, other):
    """Return the mask (size,) of different bits in two arrays of one shape and dtype; NaN equals the same NaN."""
    one, other = (np.ascontiguousarray(a).ravel().view(np.uint8).reshape(a.size, a.itemsize) for a in (one, other))
    return (one != other).any(axis=1)


def data(name):
    """Return the path of a real dataset below $GPUKIT_DATA, e.g. data("ml-1m/ratings.dat").

    Without it the test is skipped; with GPUKIT_REQUIRE_DATA=1 (set by the continuous build) it fails instead.
    """
    root = os.environ.get("GPUKIT_DATA")
    path = Path(root or "$GPUKIT_DATA") / name
    if root and path.exists():
        return path
    reason = f"{path} is not there: set GPUKIT_DATA to the folder of the unpacked datasets"
    if os.environ.get("GPUKIT_REQUIRE_DATA") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def largest_error(values, oracle):
    """Return max |values - oracle| in float64; infinite if one is NaN and the other is not."""
    values, oracle = np.asarray(values, np.float64), np.asarray(oracle, np.float64)
    assert values.shape == oracle.shape, f"shapes differ: {values.shape} and {oracle.shape}"
    if values.size == 0:
        return 0.0
    if not np.array_equal(np.isnan(values), np.isnan(oracle)):
        return np.inf
    return float(np.nanmax(np.abs(values - oracle), initial=0.0))


def assert_within_budget(values, plain, oracle, ulps=4):
    """Assert that the error against the float64 oracle is at most twice that of float32 plus a few units in the last
    place."""
    scale = float(np.nanmax(np.abs(oracle), initial=0.0)) if np.size(oracle) else 0.0
    budget = 2 * largest_error(plain, oracle) + ulps * EPS32 * scale
    error = largest_error(values, oracle)
    assert error <= budget, f"error {error:.3g} is above the budget {budget:.3g} (largest value {scale:.3g})"
