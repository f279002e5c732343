"""Launches repeated."""

import numpy as np
import pytest

from gpukit._cuda import cuda, kernel
from gpukit.replay import Replay


@kernel(cache=False)
def advance(x, out, step):
    """out = 2 x + step: arrays of one length, a thread a number."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i] + step


@pytest.mark.kernel
@pytest.mark.parametrize("count", [1, 3])
def test_every_run_is_the_same_launches(count):
    """Two launches in turn on every stream, of what the arrays hold then; the default stream waits."""
    streams = [cuda.stream() for _ in range(count)]
    x, between, out = (cuda.to_device(np.zeros((count, 1000), np.float32)) for _ in range(3))
    launches = [(advance[4, 256, stream], (x[k], between[k], np.float32(k))) for k, stream in enumerate(streams)]
    launches += [(advance[4, 256, stream], (between[k], out[k], np.float32(1))) for k, stream in enumerate(streams)]
    replay = Replay(launches, streams)
    for turn in range(4):
        numbers = np.random.default_rng(turn).normal(size=(count, 1000)).astype(np.float32)
        x.copy_to_device(numbers)
        replay.run()
        expected = 2 * (2 * numbers + np.arange(count, dtype=np.float32)[:, None]) + 1
        np.testing.assert_allclose(out.copy_to_host(), expected, rtol=1e-6, atol=1e-6)
    assert replay.runs == 4


@pytest.mark.gpu
def test_a_graph_goes_with_its_replay():
    stream = cuda.stream()
    x = cuda.to_device(np.zeros(10, np.float32))
    for _ in range(50):
        replay = Replay([(advance[1, 32, stream], (x, x, np.float32(1)))], [stream])
        replay.run(), replay.run()
        assert replay.graph
        del replay
    cuda.synchronize()
    assert x.copy_to_host()[0] > 0
