"""Features that do not fit in GPU memory: the blocks that travel, and the results, against those of the CPU."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse
from support import SIMULATED

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:.* encountered")]

from gpukit.device import Device
from gpukit.errors import DeviceMemoryError
from gpukit.ranking import RankSVM, cpu, feature_map, gpu, run, scaling
from gpukit.ranking.blocks import HostBlocks
from gpukit.ranking.pair_sums import make_pair_sums
from ranking import inputs, sessions

GPU = Device("cuda", 0, "a GPU", (9, 0))
LENGTHS = (5, 1, 33, 0, 7, 4)
WEIGHTS = np.array([1.0, 3.0, 0.5, 1.0, 2.0, 1.0])


@pytest.fixture(autouse=True)
def a_small_gpu(monkeypatch):
    """numpy takes the place of cupy in the simulator."""
    if SIMULATED:
        monkeypatch.setattr(gpu, "library", lambda: np)
    monkeypatch.setattr(gpu, "walk_blocks", lambda: 2)
    sessions.small_blocks(monkeypatch)


def problem_of(kind, lengths=LENGTHS, n=6):
    """Return (Problem, w (n,)); some documents of a sparse X have no values."""
    at = inputs.queries(lengths, 3, "margins")
    X, w = sessions.documents(at, n, np.float32 if kind == "float32" else np.float64)
    if kind == "sparse":
        X[:, 1:] *= np.random.default_rng(0).random((len(X), n - 1)) < 0.3
        X[[2, -1]] = 0.0
        X = scipy.sparse.csr_array(X)
    return sessions.problem_of(at, X, None, WEIGHTS if lengths == LENGTHS else None), w


def assert_same_products(session, twin, points, exact):
    """Compare the products at points with those of another session; return the passes of each evaluation."""
    passes = []
    for w in points:
        passes.append(-session.matrix.passes)
        for one in (session, twin):
            one.move(w)
        for u, margin in ((w, 1.0), (w[::-1].copy(), 0.0)):
            expected = twin.walk(u, margin)
            np.testing.assert_allclose(session.walk(u, margin), expected, rtol=0, atol=exact * abs(expected).max())
            passes[-1] += session.matrix.passes if margin else 0
    gram, z = twin.gram(), np.random.default_rng(9).normal(size=session.size)
    np.testing.assert_allclose(session.gram(), gram, rtol=0, atol=exact * abs(gram).max())
    np.testing.assert_allclose(session.gram(diagonal=True), gram.diagonal(), rtol=0, atol=exact * abs(gram).max())
    transposed = twin.matrix.transposed(z)
    found = session.matrix.transposed(gpu.put(z))
    np.testing.assert_allclose(found, transposed, rtol=0, atol=10 * exact * abs(transposed).max())
    return passes


BLOCKS = [(400, 1), (1, 0), (400, 99), (1 << 20, 0)]  # bytes of a block: of some queries, each, all; blocks kept
KINDS = ("float32", "float64", "sparse")
STREAMED = [("float32", BLOCKS[2]), ("float64", BLOCKS[1]), ("float64", BLOCKS[3])]
STREAMED += [("sparse", each) for each in BLOCKS[:3]]
TIERS = {("float32", BLOCKS[0]): (), **dict.fromkeys(STREAMED, pytest.mark.slow)}


@pytest.mark.parametrize(
    "kind, blocks",
    [pytest.param(*each, marks=TIERS.get(each, pytest.mark.nightly)) for each in itertools.product(KINDS, BLOCKS)],
)
def test_products_of_blocks(kind, blocks, monkeypatch):
    """A query is larger than a block, one is empty; without cupy an evaluation takes two passes."""
    (most, kept), (problem, w) = blocks, problem_of(kind)
    monkeypatch.setattr(gpu, "has_cupy", lambda: kept == 0)
    X = HostBlocks(problem.X, problem.tree.offsets, most)
    X.kept = min(kept, len(X.queries))
    assert len(X.queries) == {1: 5, 400: X.kept if kept == 99 else len(X.queries), 1 << 20: 1}[most]
    session, twin = make_pair_sums(problem._replace(X=X), "scan", gpu), make_pair_sums(problem, "scan", cpu)
    assert isinstance(session.matrix, gpu.Streamed) and len(session.matrix.kept) == X.kept
    passes = assert_same_products(session, twin, (0.0 * w, w, 0.5 * w) if kept == 0 else (w,), 1e-12)
    assert passes == ([1, 2, 1] if kept == 0 else [2])


@pytest.mark.parametrize("resident", [0, 9, pytest.param(10, marks=pytest.mark.slow)])
def test_products_with_a_feature_map(resident, monkeypatch):
    """A part of the documents is on the GPU, the others travel and are scaled there."""
    monkeypatch.setattr(gpu, "EXPANDED", 1)
    monkeypatch.setattr(feature_map, "WAVES", 5)
    problem, _ = problem_of("float64")
    X, offsets = problem.X, problem.tree.offsets
    fitted = scaling.fit("minmax", X)
    fourier = feature_map.fit("fourier", X, offsets, fitted)
    streamed = feature_map.Expanded(X, fourier, offsets, fitted).keeping(resident)
    assert streamed.travelling == (len(X) - resident) * 6 * 8
    session = make_pair_sums(problem._replace(X=streamed), "scan", gpu)
    expected = feature_map.Expanded(fitted.apply(X), fourier, offsets)
    w = np.random.default_rng(8).normal(size=expected.shape[1])
    passes = assert_same_products(session, make_pair_sums(problem._replace(X=expected), "scan", cpu), (w, 2 * w), 1e-11)
    assert passes == [2, 1]


def limit_memory(monkeypatch, spare):
    """Let the GPU have this number of spare bytes."""
    for name in (
        "gpukit.device.memory.spare_memory",
        "gpukit.device.spare_memory",
        "gpukit.device.memory._free_on_gpu",
    ):
        monkeypatch.setattr(name, lambda: spare)


@pytest.mark.parametrize("kind", ["float32", "float64", "sparse", "wide", "fourier"])
def test_what_travels_follows_the_memory(kind, monkeypatch):
    """From all of the features to none; the rest is on the GPU, and with the tables not more than there is."""
    problem, _ = problem_of(kind, tuple(np.random.default_rng(2).integers(1, 60, 200)), 60)
    if kind == "fourier":
        monkeypatch.setattr(gpu, "EXPANDED", 1)
        monkeypatch.setattr(feature_map, "WAVES", 5)
        map = feature_map.fit("fourier", problem.X, problem.tree.offsets)
        problem = problem._replace(X=feature_map.Expanded(problem.X, map, problem.tree.offsets))
    monkeypatch.setattr(gpu, "LIMIT", 50 if kind == "wide" else 1024)
    whole, least = gpu.memory_needed(problem), gpu.memory_needed(gpu.streamed(problem, 0))
    assert least < 0.7 * whole
    travelling = []
    for spare in np.linspace(least, whole - 1, 7).astype(int).tolist():
        limit_memory(monkeypatch, spare)
        with pytest.warns(UserWarning, match=r"do not fit in GPU memory: [0-9.e-]+ GB stream from main memory in each"):
            fitted = run.fit_memory(GPU, problem)
        assert gpu.memory_needed(fitted) <= spare and fitted.X.shape == problem.X.shape
        travelling.append(fitted.X.travelling)
    assert 0 < min(travelling) < 0.9 * max(travelling)
    limit_memory(monkeypatch, whole)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run.fit_memory(GPU, problem) is problem
    limit_memory(monkeypatch, least - 1)
    with pytest.raises(DeviceMemoryError, match="features, streamed from main memory, needs.*Use --device cpu") as e:
        run.fit_memory(GPU, problem)
    assert "\n" not in str(e.value)


@pytest.mark.slow
@pytest.mark.simulator
@pytest.mark.filterwarnings("ignore:RankSVM stopped")
@pytest.mark.parametrize("kind, precondition", [("float32", True), ("sparse", False)])
def test_a_fit(kind, precondition, monkeypatch):
    """The coefficients are those of the CPU, although all blocks travel."""
    problem, _ = problem_of(kind)
    at = inputs.queries(LENGTHS, 3, "margins")
    limit_memory(monkeypatch, 1 << 30)
    monkeypatch.setattr("gpukit.device.has_memory", lambda needed: False)
    monkeypatch.setattr("gpukit.device.gpu", lambda index: GPU)
    monkeypatch.setattr(gpu, "STREAMED", 300)
    monkeypatch.setattr(HostBlocks, "keep", lambda self, spare: None)
    settings = {"C": 0.1, "scale": "deviation", "precondition": precondition, "max_iter": 3}
    with pytest.warns(UserWarning, match="do not fit in GPU memory"):
        there = RankSVM(device=GPU, **settings).fit(problem.X, at.y, group=LENGTHS)
    here = RankSVM(device="cpu", **settings).fit(problem.X, at.y, group=LENGTHS)
    # with a preconditioner, the CPU's products with the Hessian are in float32
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-5 if precondition else 1e-10)
