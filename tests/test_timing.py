"""Compilation and loading of code do not count as computation, in any stage of any estimator."""

import json
import subprocess
import sys
import threading
import time

import pytest

from gpukit import _jit, timing


def test_the_clock_of_work_stops_while_code_is_compiled():
    work, compiled = timing.work_clock(), timing.compile_seconds()
    with timing.compiling(), timing.compiling():  # nested: counted once
        time.sleep(0.05)
        assert 0.04 < timing.compile_seconds() - compiled < 0.2
    assert timing.work_clock() - work < 0.02 and 0.05 <= timing.compile_seconds() - compiled < 0.2


def test_a_thread_counts_its_own_compiling():
    seconds = []

    def other():
        with timing.compiling():
            time.sleep(0.05)
        seconds.append(timing.compile_seconds())

    before = timing.compile_seconds()
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seconds[0] >= 0.05 and timing.compile_seconds() == before


def test_stages_are_apart_from_compiling():
    clock = timing.Clock()
    with clock("prepare"):
        time.sleep(0.02)
        with timing.compiling():
            time.sleep(0.1)
    assert 0.02 <= clock.seconds["prepare"] < 0.08 and clock.seconds["compiling"] >= 0.1


def test_a_first_call_compiles_and_a_second_does_not():
    @_jit.njit
    def add_a_number_of_its_own(x):
        return x + 17.25

    seconds = timing.compile_seconds()
    add_a_number_of_its_own(1.0)
    compiled = timing.compile_seconds()
    add_a_number_of_its_own(2.0)
    assert compiled > seconds and timing.compile_seconds() == compiled


SLOW = """
import json, sys, time
import numpy as np
import gpukit
from gpukit import _jit

load, loads, blas = _jit.CPUDispatcher.compile, [], []

class Watch:
    def find_spec(name, path, target=None):
        if name == "scipy.linalg":
            blas.append(gpukit.timing._thread.since is not None)

sys.meta_path.insert(0, Watch)

def slow_load(self, signature):
    loads.append(self)
    time.sleep(0.05)
    return load(self, signature)

_jit.CPUDispatcher.compile = slow_load
random = np.random.default_rng(0)
if sys.argv[1] == "RankSVM":
    model = gpukit.RankSVM(C=1.0, device="cpu")
    seconds = model.fit(random.normal(size=(40, 3)), random.integers(0, 3, 40), qid=np.repeat(range(8), 5)).timings_
elif sys.argv[1] == "GraphImputer":
    values = random.normal(size=(12, 7))
    values[2:4] = np.nan
    seconds = gpukit.GraphImputer(device="cpu").fit(np.eye(12, k=1) + np.eye(12, k=-1), values).stages_
else:
    users, items = np.divmod(random.permutation(300)[:200], 15)
    model = gpukit.SimLSH(n_neighbors=3) if sys.argv[1] == "SimLSH" else gpukit.LSHMF(4, 3, n_epochs=2)
    model.set_params(device="cpu").fit(np.column_stack([users, items]), random.integers(1, 6, 200))
    seconds = model.timings_
print(json.dumps([len(loads), seconds["compiling"], blas]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["LSHMF", "SimLSH", "RankSVM", "GraphImputer"])
def test_loading_code_is_counted_as_compiling(name):
    """Each first call of a compiled function takes 50 ms more, in the stage "compiling", which includes loading BLAS.

    The check of the data, and the scheduler for it, are loaded before the first stage.
    """
    out = subprocess.run([sys.executable, "-c", SLOW, name], capture_output=True, text=True, check=True).stdout
    loads, compiling, blas = json.loads(out)
    assert loads > 2 and compiling >= 0.05 * (loads - 2)
    assert name != "RankSVM" or blas == [True]


def test_the_result_of_another_thread():
    wait = timing.in_background(threading.current_thread)
    assert wait() is not threading.current_thread() and wait().daemon


def test_an_exception_is_raised_where_it_is_waited_for():
    wait = timing.in_background(lambda: {}["lacking"])
    with pytest.raises(KeyError, match="lacking"):
        wait()


def test_compiling_counts_for_the_waiting_thread():
    def compile_a_little():
        with timing.compiling():
            time.sleep(0.02)

    before = timing.compile_seconds()
    wait = timing.in_background(compile_a_little)
    assert timing.compile_seconds() == before
    wait()
    assert timing.compile_seconds() - before >= 0.02
