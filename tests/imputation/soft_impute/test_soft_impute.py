"""Soft-impute against plain singular value decompositions."""

from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from gpukit import _pool
from gpukit.device import Device
from gpukit.imputation.problem import Problem
from gpukit.imputation.soft_impute import cpu, iteration, method
from gpukit.imputation.soft_impute.method import SHARES


def case(n=30, m=50, rank=3, seed=0):
    """Return (truth, seen): of low rank, a little noise, a third missing."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, m)) + 0.05 * rng.normal(size=(n, m))
    return truth.astype(np.float32), rng.random((n, m)) > 0.3


def naive(known, seen, share, steps=500):
    """Run the paper's algorithm until convergence."""
    Z, t = np.zeros(known.shape), share * np.linalg.svd(known, compute_uv=False)[0]
    for _ in range(steps):
        U, d, Vt = np.linalg.svd(np.where(seen, known, Z), full_matrices=False)
        Z = U * np.maximum(d - t, 0) @ Vt
    return Z


def completed(known, seen, *shares):
    """Return the estimates of one matrix for several shares."""
    return iteration.completed(cpu, [cpu.DeviceMatrix(known.astype(np.float32), seen) for _ in shares], shares)


@pytest.mark.parametrize("whole", [512, 4])
def test_it_ends_where_the_plain_algorithm_does(whole, monkeypatch):
    monkeypatch.setattr(iteration, "CHANGE", 1e-6)
    monkeypatch.setattr(iteration, "STEPS", 300)
    monkeypatch.setattr(iteration, "WHOLE", whole)
    truth, seen = case()
    known = np.where(seen, truth, 0)
    for share, found in zip(SHARES, completed(known, seen, *SHARES)):
        expected = naive(known.astype(float), seen, share)
        assert np.linalg.norm(found - expected) < 2e-4 * np.linalg.norm(expected)


def test_side_by_side_is_one_by_one():
    truth, seen = case()
    known = np.where(seen, truth, 0)
    for share, found in zip(SHARES, completed(known, seen, *SHARES)):
        np.testing.assert_allclose(found, completed(known, seen, share)[0], atol=1e-5)


@pytest.mark.parametrize("spare", [3, 10])
def test_the_largest_singular_values_are_those_of_all(spare, monkeypatch):
    monkeypatch.setattr(iteration, "WHOLE", 4)
    monkeypatch.setattr(iteration, "SPARE", spare)
    matrix = case(rank=12)[0]
    exact = np.linalg.svd(matrix, compute_uv=False)
    matrix = cpu.DeviceMatrix(matrix, np.ones(matrix.shape, bool))
    one = iteration.Iteration(matrix, 0.1)
    for _ in range(8):  # successive steps approach each other
        one.step(*iteration.largest(one.squares()))
    np.testing.assert_allclose(one.threshold, 0.1 * exact[0], rtol=0.02)
    left = np.maximum(exact - one.threshold, 0)
    found = np.linalg.svd(matrix.estimated(), compute_uv=False)
    np.testing.assert_allclose(found, left, atol=2e-3 * exact[0])


def test_nothing_seen_and_all_equal():
    nothing = np.zeros((3, 4), np.float32)
    assert (completed(nothing, nothing > 1, 0.1)[0] == 0).all()


def test_blas_alone_has_one_thread():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    with _pool.alone():
        pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    assert {pool["num_threads"] for pool in pools} == {1}


@pytest.mark.parametrize("shape, small", [((512, 2048), True), ((512, 2049), False), ((513, 600), False)])
def test_small_matrices_are_the_cpus(shape, small, monkeypatch):
    """On a GPU too: their decompositions run on the CPU."""
    monkeypatch.setattr(method, "engine", lambda device, room: device)
    gpu = SimpleNamespace(is_cuda=True)
    found = method.steps_of(SimpleNamespace(values=np.empty(shape), place=SimpleNamespace(device=gpu)))
    assert found is not gpu if small else found is gpu


def test_small_and_large_ones_together(monkeypatch):
    """Results keep the order of the problems on all devices."""
    truth, seen = case()
    problems = [asked(truth[:, :m], seen[:, :m]) for m in (50, 40, 45, 20)]
    alone = [method.fill_all([one], [0.1])[0] for one in problems]
    other = ModuleType("other")
    other.DeviceMatrix, other.run_all = cpu.DeviceMatrix, lambda iterations: iteration.run_together(iterations)
    monkeypatch.setattr(method, "steps_of", lambda one: cpu if one.values.shape[1] > 42 else other)
    for found, expected in zip(method.fill_all(problems, [0.1] * 4), alone):
        np.testing.assert_allclose(found, expected, atol=1e-5)


def asked(values, seen):
    """Return a Problem with values and a mask only."""
    place = SimpleNamespace(device=Device("cpu", 0, "cpu"))
    return Problem(None, np.where(seen, values, 0.0), seen, None, 0, (1, values.shape[1]), place, None)


@pytest.mark.parametrize("turned", [False, True])
def test_what_is_missing_is_filled_in_on_top_of_the_level(turned):
    truth, seen = (part.T if turned else part for part in case())
    truth = truth + np.arange(truth.shape[0])[:, None] + 100.0
    found = method.fill(asked(truth, seen), {"share": min(SHARES)})
    assert np.abs(found - truth)[~seen].mean() < 0.2 * np.abs(truth - truth.mean(axis=1, keepdims=True)).mean()


def test_numbers_of_any_size_take_the_same_steps():
    """The restart of momentum depends on a sign only."""
    truth, seen = case()
    known, scale = np.where(seen, truth, 0), np.float32(2.0**-12)
    for one, other in zip(completed(known, seen, *SHARES), completed(scale * known, seen, *SHARES)):
        np.testing.assert_allclose(other, scale * one, rtol=0, atol=1e-5 * scale)


@pytest.mark.parametrize("shape, fits", [((2, 9), False), ((3, 9), True), ((9, 3), True), ((20_000, 20_000), False)])
def test_shapes_that_it_suits(shape, fits):
    assert method.suits(SimpleNamespace(values=np.broadcast_to(np.float32(0), shape))) is fits
