"""Questions to the GPU and their answers as one: what launches one after the other give."""

import gc
import os

import numpy as np
import pytest

from gpukit import _driver
from gpukit._cuda import SIMULATED, cuda, kernel
from gpukit.device import cuda_graph
from gpukit.device.cuda_graph import Round

SIZE = 37


@kernel
def scale(x, factors, number, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * factors[i] + number


@kernel
def pair_up(x, out):
    """Each number and its neighbour: wrong where the kernel before has not ended."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + x[i + 1]


def a_round(factors, number=3.0, block=16):
    """A Round of SIZE numbers, of two kernels: question, middle and answer differ in shape."""
    question, answer = _driver.device_array(SIZE, np.float32), _driver.device_array(SIZE - 1, np.float64)
    middle, grid = _driver.device_array(SIZE, np.float64), (-(-SIZE // block), 1, 1)
    launches = (scale, grid, block, question, factors, number, middle), (pair_up, grid[0], (block, 1), middle, answer)
    return Round(question, launches, answer)


def expected(x, factors, number=3.0):
    middle = x.astype(np.float64) * factors + number
    return middle[:-1] + middle[1:]


@pytest.mark.kernel
@pytest.mark.parametrize("block", [1, 16, 64])
def test_every_question_has_its_answer(block):
    """Also where arrays have other numbers by then; answers are the caller's, and two rounds do not meet."""
    host = np.arange(SIZE, dtype=np.float64)
    factors, answers, wanted = cuda.to_device(host), [], []
    asked, other = a_round(factors, block=block), a_round(factors, 8.0, block)
    for turn in range(4):
        x = (np.arange(SIZE) + turn).astype(np.float32)
        if turn == 2:
            factors.copy_to_device(host[::-1].copy())
            host = host[::-1]
        answers += asked(x), other(2 * x)
        wanted += expected(x, host), expected(2 * x, host, 8.0)
        x[:] = -1
        gc.collect()
    np.testing.assert_array_equal(answers, wanted)


@pytest.mark.kernel
def test_questions_of_another_kind():
    """Another dtype is converted, another shape refused, the first time and later."""
    factors = np.ones(SIZE)
    asked = a_round(cuda.to_device(factors))
    for _ in range(3):
        x = np.arange(2 * SIZE)[::2]
        np.testing.assert_array_equal(asked(x), expected(x, factors))
        for wrong in (np.ones(1), np.ones((1, SIZE)), np.ones(SIZE + 1)):
            with pytest.raises(ValueError, match=rf"shape \({wrong.shape[0]}.* does not fit one of shape \({SIZE},\)"):
                asked(wrong)


@pytest.mark.kernel
def test_arguments_that_only_numba_can_hand_over():
    """A host array goes there with each launch."""
    factors = np.ones(SIZE)
    asked = a_round(factors)
    for turn in range(3):
        factors[:] = turn
        x = np.arange(SIZE, dtype=np.float32)
        np.testing.assert_array_equal(asked(x), expected(x, factors))


@pytest.mark.gpu
def test_the_driver_is_asked_once(monkeypatch):
    """From the second time on."""
    assert not SIMULATED
    factors, x = np.linspace(0, 1, SIZE), np.arange(SIZE, dtype=np.float32)
    asked = a_round(cuda.to_device(factors))
    asked(x)
    for name in ("launch", "copy_in", "copy_out"):
        monkeypatch.setattr(cuda_graph, name, None)
    calls, ask = [], _driver.asked
    monkeypatch.setattr(cuda_graph, "asked", lambda name, *arguments: (calls.append(name), ask(name, *arguments))[1])
    gc.collect()
    np.testing.assert_array_equal(asked(x), expected(x, factors))
    assert calls == ["cuGraphLaunch", "cuStreamSynchronize"]


def test_a_graph_is_given_back_by_who_has_made_it(monkeypatch):
    given = []
    monkeypatch.setattr(cuda_graph, "asked", lambda *call: given.append(call))
    cuda_graph.give_back("another's", os.getpid() + 1)
    cuda_graph.give_back("mine", os.getpid())
    assert given == [("cuGraphExecDestroy", "mine")]


@pytest.mark.gpu
def test_behind_what_was_queued_before():
    factors = cuda.to_device(np.ones(SIZE))
    asked, x = a_round(factors), np.arange(SIZE, dtype=np.float32)
    many = _driver.zeros(1 << 26, np.uint8)
    for turn in range(5):
        for _ in range(20):
            many.copy_to_device(many)
        _driver.copy_in(np.full(SIZE, float(turn)), factors)
        np.testing.assert_array_equal(asked(x), expected(x, np.full(SIZE, float(turn))))
