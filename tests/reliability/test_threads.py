"""Every threading layer of numba: eight threads at once, forked and spawned children. Each in a process of its own."""

import json
import platform

import pytest

REFUSED = "DeviceError: gpukit cannot compute in this process: it was forked"
ABLE = {"tbb": "right", "workqueue": "right", "omp": REFUSED}
OF_A_THREAD = {**ABLE, "tbb": REFUSED}
HERE = ABLE if platform.machine() == "x86_64" else ("workqueue", "omp")  # tbb has no wheels for others


@pytest.mark.slow
@pytest.mark.parametrize("layer", HERE)
def test_threads_forks_and_spawned_children(layer, python, folder, rounds):
    done = python("service.py", rounds(10), folder, NUMBA_THREADING_LAYER=layer, OMP_WAIT_POLICY="passive")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["layer"] == layer and found["early"] == found["spawned"] == found["after"] == "right"
    assert found["wrong"] == 0 and found["fits"] == found["readings"] == [True] * 8
    assert found["killed"] == "exit code -9" and found["beside_a_busy_thread"].startswith(ABLE[layer])
    assert found["forked"].startswith(ABLE[layer]) and found["forked_by_a_thread"].startswith(OF_A_THREAD[layer])


def test_an_unknown_layer_is_refused(python, folder):
    done = python("service.py", 1, folder, NUMBA_THREADING_LAYER="fibres")
    assert "NUMBA_THREADING_LAYER=fibres: there is no such threading layer here" in done.stderr.splitlines()[-1]
