"""deterministic=True: bit-identical results for any threads, as accurate as plain training."""

import os
import subprocess
import sys

import pytest

from factorization.inputs import make, planted, same_state
from gpukit.errors import ParameterError
from gpukit.factorization import LSHMF, MatrixFactorization, cpu
from gpukit.factorization import cpu as steps
from gpukit.factorization.constants import RULES
from gpukit.runtime.thread_count import get_num_threads

BOTH = pytest.mark.parametrize("model", [MatrixFactorization, LSHMF])
ON_THREADS = """
import hashlib, gpukit
from factorization.inputs import make, planted
from gpukit import factorization
from gpukit.factorization.constants import RULES
from gpukit.factorization import cpu as steps

steps.GRAIN, RULES.ratings_a_thread = 50, 1
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


def test_a_function_of_the_seed():
    ratings = planted(300, 120, 0.3)
    one, same, other = (make(LSHMF, deterministic=True, random_state=seed).fit(ratings) for seed in (3, 3, 4))
    assert same_state(one, same) and not same_state(one, other)


def test_little_work_takes_one_thread(monkeypatch):
    """The number of threads is limited by the size of an epoch."""
    taken, ratings = [], planted(300, 120, 0.3)
    monkeypatch.setattr(cpu, "sgd_epoch", lambda *arguments: taken.append(get_num_threads()))
    for few in (10**9, 1):
        monkeypatch.setattr(RULES, "ratings_a_thread", few)
        make(MatrixFactorization, n_epochs=1).fit(ratings)
    assert taken == [1, get_num_threads()]
