"""Fits in two threads on each GPU give the bits of a single fit."""

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
    """Return predictions of a deterministic LSHMF on 40,000 generated ratings."""
    rng = np.random.default_rng(1)
    keys = np.unique(rng.integers(0, 900 * 300, 40_000))
    pairs = np.stack([keys // 300, keys % 300], axis=1)
    model = LSHMF(n_factors=16, n_neighbors=16, n_epochs=3, deterministic=True, device=device)
    return model.fit(pairs, rng.integers(1, 6, len(pairs)).astype(np.float32)).predict(pairs[:3000])


def ranks(device):
    """Return weights of a RankSVM on 200 generated queries."""
    rng = np.random.default_rng(2)
    X, qid = rng.standard_normal((6000, 20)).astype(np.float32), np.repeat(np.arange(200), 30)
    return RankSVM(1.0, device=device).fit(X, rng.integers(0, 4, len(X)), qid=qid).coef_.ravel()


def graphs(device):
    """Return a completed tensor on a ring of 60 vertices."""
    rng = np.random.default_rng(3)
    ring = np.roll(np.eye(60), 1, axis=0)
    tensor = rng.standard_normal((60, 12, 2)) @ rng.standard_normal((2, 12))
    tensor[rng.random(60) < 0.3] = np.nan
    return GraphImputer(weights="slice", center="none", device=device).fit(ring + ring.T, tensor).completed_.ravel()


@pytest.mark.parametrize("fit", (neighbourhoods, ranks, graphs))
def test_threads_on_every_gpu(fit):
    devices = [f"cuda:{number}" for number in range(len(cuda.gpus))]
    expected, results = fit(devices[0]), {}

    def run(key):
        results[key] = fit(key[1])

    for turn in range(ROUNDS):
        keys = [(turn, device, twice) for device in devices for twice in range(2)]
        threads = [threading.Thread(target=run, args=(key,)) for key in keys]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(results) == ROUNDS * 2 * len(devices)
    for key, result in results.items():
        np.testing.assert_array_equal(result, expected, err_msg=str(key))
