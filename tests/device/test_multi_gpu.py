"""Every GPU at once: threads that fit on their own GPU, and two on the same, get the bits of a fit alone."""

import threading

import numpy as np
import pytest

from gpukit._cuda import cuda
from gpukit.factorization import LSHMF
from gpukit.imputation import GraphImputer
from gpukit.ranking import RankSVM

pytestmark = pytest.mark.gpu
ROUNDS = 2


def neighbourhoods(device):
    """Predictions of a deterministic LSHMF on 40,000 generated ratings."""
    rng = np.random.default_rng(1)
    keys = np.unique(rng.integers(0, 900 * 300, 40_000))
    pairs = np.stack([keys // 300, keys % 300], axis=1)
    model = LSHMF(n_factors=16, n_neighbors=16, n_epochs=3, deterministic=True, device=device)
    return model.fit(pairs, rng.integers(1, 6, len(pairs)).astype(np.float32)).predict(pairs[:3000])


def ranks(device):
    """Weights of a RankSVM on 200 generated queries."""
    rng = np.random.default_rng(2)
    X, qid = rng.standard_normal((6000, 20)).astype(np.float32), np.repeat(np.arange(200), 30)
    return RankSVM(1.0, device=device).fit(X, rng.integers(0, 4, len(X)), qid=qid).coef_.ravel()


def graphs(device):
    """A completed tensor on a ring of 60 vertices."""
    rng = np.random.default_rng(3)
    ring = np.roll(np.eye(60), 1, axis=0)
    tensor = rng.standard_normal((60, 12, 2)) @ rng.standard_normal((2, 12))
    tensor[rng.random(60) < 0.3] = np.nan
    return GraphImputer(weights="slice", center="none", device=device).fit(ring + ring.T, tensor).completed_.ravel()


@pytest.mark.parametrize("work", (neighbourhoods, ranks, graphs))
def test_threads_on_every_gpu(work):
    devices = [f"cuda:{number}" for number in range(len(cuda.gpus))]
    alone, answers = work(devices[0]), {}

    def answer(key):
        answers[key] = work(key[1])

    for turn in range(ROUNDS):
        keys = [(turn, device, twice) for device in devices for twice in range(2)]
        threads = [threading.Thread(target=answer, args=(key,)) for key in keys]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(answers) == ROUNDS * 2 * len(devices)
    for key, found in answers.items():
        np.testing.assert_array_equal(found, alone, err_msg=str(key))
