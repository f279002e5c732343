"""Choice of the device and the solver."""

import numpy as np
import pytest

from gpukit import device as devices
from gpukit.device import Device
from gpukit.errors import ParameterError
from gpukit.ranking import RankSVM, run
from gpukit.ranking.solvers import choose
from ranking.data import make

CPU, GPU = Device("cpu", 0, "cpu"), Device("cuda", 0, "a GPU", (9, 0))


def test_small_problems_stay_on_the_cpu(monkeypatch):
    asked = []
    monkeypatch.setattr(devices, "resolve", lambda spec: asked.append(spec) or CPU)
    for solver, device, stored in [
        ("auto", "auto", 10),
        ("auto", "auto", choose.FOR_THE_CPU),
        ("ost", "auto", 10**9),
        ("dcm", "auto", 10**9),
        ("p-swx", "auto", 10**9),
        ("scan", "cuda:1", 10),
    ]:
        choose.choose_device(solver, device, stored)
    assert asked == ["cpu", "auto", "cpu", "cpu", "auto", "cuda:1"]


@pytest.mark.parametrize("solver", ["dcm", "ost"])
@pytest.mark.parametrize("device", ["cuda", "cuda:3", GPU])
def test_solvers_of_the_cpu_alone(solver, device):
    with pytest.raises(ParameterError, match=f"solver '{solver}' runs on the CPU alone. Use device='cpu'"):
        RankSVM(solver=solver, device=device).check()
    assert RankSVM(solver="scan", device=device).check().solver == "scan"


def test_the_fastest_solver():
    deep = choose.DEEP + 1
    assert choose.choose_solver("auto", CPU, deep, True) == "ost"
    for device, planes, preconditioned in [(GPU, deep, True), (CPU, deep, False), (CPU, deep - 1, True)]:
        assert choose.choose_solver("auto", device, planes, preconditioned) == "scan"
    for solver in choose.SOLVERS[1:]:
        assert choose.choose_solver(solver, CPU, deep, True) == solver


@pytest.mark.slow
@pytest.mark.parametrize("levels, expected", [(3, "scan"), (0, "ost")])
def test_the_estimator_says_which(levels, expected):
    at = make([80, 70], levels)
    assert RankSVM(device="cpu").fit(at.X, at.y, at.qid).solver_ == expected
    assert RankSVM(device="cpu", precondition=False).fit(at.X, at.y, at.qid).solver_ == "scan"


def test_a_gpu_that_is_too_small_is_told(monkeypatch):
    at = make()
    problem = RankSVM(device="cpu").prepare(at.X, at.y, at.qid).problem
    asked = []
    monkeypatch.setattr(devices, "require_memory", lambda device, needed, what: asked.append((device, needed, what)))
    monkeypatch.setattr(devices, "has_memory", lambda needed: True)
    run.fit_memory(GPU, problem)
    import scipy.sparse

    run.fit_memory(GPU, problem._replace(X=scipy.sparse.csr_array(at.X)))
    assert asked[0][0] is GPU and asked[0][1] > at.X.nbytes and "85 documents x 5 features" in asked[0][2]
    assert asked[1][1] > asked[0][1]


def test_stored_values():
    import scipy.sparse

    X = np.eye(4)
    assert (choose.stored_values(X), choose.stored_values(scipy.sparse.csr_array(X))) == (16, 4)
