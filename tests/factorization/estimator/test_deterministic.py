"""deterministic=True: bit-identical results for any threads, as accurate as plain training."""

import os
import subprocess
import sys

import pytest

from factorization.inputs import make, planted, same_state
from gpukit.device import Device
from gpukit.device import cpu as cpu_device
from gpukit.errors import ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization, cpu, settings
from gpukit.factorization.prepare import cpu as steps
from gpukit.runtime.thread_count import get_num_threads

GPU = Device("cuda", 0, "a GPU", (9, 0))
BOTH = pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])
ON_THREADS = """
import hashlib, gpukit
from factorization.inputs import make, planted
from gpukit import factorization
from gpukit.factorization import cpu
from gpukit.factorization.prepare import cpu as steps

steps.GRAIN, cpu.RATINGS_A_THREAD = 50, 1
for threads in (1, 2, 4, 16):
    gpukit.set_num_threads(threads)
    fitted = make(factorization.{model}, deterministic=True, n_epochs=6).fit(planted(300, 120, 0.3))
    print(hashlib.sha256(b"".join(array.tobytes() for array in fitted._state)).hexdigest())
"""


@pytest.mark.slow
@BOTH
def test_any_number_of_threads(model):
    """1, 2, 4 and 16 threads, more than blocks, give the same bits."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    code = ON_THREADS.format(model=model.__name__)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 4 and len(set(done.stdout.split())) == 1


@BOTH
def test_as_good_as_plain(model, monkeypatch):
    ratings = planted(300, 120, 0.3)
    racy = make(model, n_epochs=20).fit(ratings)
    for grain in (50, 10**9):  # many blocks, one
        monkeypatch.setattr(steps, "GRAIN", grain)
        fitted = make(model, n_epochs=20, deterministic=True).fit(ratings)
        assert fitted.score(ratings) == pytest.approx(racy.score(ratings), rel=0.03)


def test_half_precision_is_refused():
    with pytest.raises(ParameterError, match="deterministic=True use 'auto' or 'single'"):
        MatrixFactorization(deterministic=True, precision="half").check()


@BOTH
def test_training_is_on_the_cpu_whatever_the_device(model):
    """The device serves the model; a live model on a GPU would train there."""
    ratings = planted(30, 20, 0.5)
    expected = make(model, deterministic=True, n_epochs=2).fit(ratings)
    fitted = make(model, deterministic=True, n_epochs=2).set_params(device=GPU).fit(ratings)
    assert fitted.device_ == expected.device_ and same_state(fitted, expected)
    assert settings.training_device(fitted) == cpu_device()
    assert settings.training_device(make(model).set_params(device=GPU)) == GPU
    new = ratings.take(slice(0, 3))
    fitted.partial_fit(new, duplicates="last")
    assert fitted.device_ == expected.device_ and same_state(fitted.live().model(), fitted)
    with pytest.raises(ParameterError, match="trains on the CPU alone. Keep the model live on device='cpu'"):
        fitted.live(GPU)


def test_a_function_of_the_seed():
    ratings = planted(300, 120, 0.3)
    one, same, other = (make(LSHMF, deterministic=True, random_state=seed).fit(ratings) for seed in (3, 3, 4))
    assert same_state(one, same) and not same_state(one, other)


def test_little_work_takes_one_thread(monkeypatch):
    """The number of threads is limited by the size of an epoch."""
    taken, ratings = [], planted(300, 120, 0.3)
    monkeypatch.setattr(cpu, "sgd_epoch", lambda *arguments: taken.append(get_num_threads()))
    for few in (10**9, 1):
        monkeypatch.setattr(cpu, "RATINGS_A_THREAD", few)
        make(MatrixFactorization, n_epochs=1).fit(ratings)
    assert taken == [1, get_num_threads()]
