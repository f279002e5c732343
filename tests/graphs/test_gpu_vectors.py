"""A basis's vectors on a GPU: which are cached, and when they are copied again. numpy replaces cupy."""

import numpy as np
import pytest

from gpukit.device import workspace as workspaces
from gpukit.graphs.basis import keep_vectors, vectors_on_gpu


class Bring:
    """Copies arrays to a GPU, and counts them."""

    def __init__(self):
        self.uploads = 0

    def __call__(self, array, dtype):
        self.uploads += 1
        return array.astype(dtype)


@pytest.fixture
def workspace(monkeypatch):
    monkeypatch.setattr(workspaces, "_current_gpu", lambda: 0)
    return workspaces.Workspace()


def test_vectors_go_up_once_for_a_type(workspace):
    bring, vectors, others = Bring(), np.eye(4), np.eye(5)
    first = vectors_on_gpu(vectors, np.float32, bring, workspace)
    assert first.dtype == np.float32 and (first == vectors).all()
    assert vectors_on_gpu(vectors, "float32", bring, workspace) is first and bring.uploads == 1
    assert (vectors_on_gpu(others, np.float32, bring, workspace) == others).all() and bring.uploads == 2
    assert (vectors_on_gpu(vectors, np.float32, bring, workspace) == vectors).all() and bring.uploads == 3


def test_vectors_computed_there_need_not_go_up(workspace):
    bring, vectors = Bring(), np.random.default_rng(0).normal(size=(4, 4))
    there = vectors.copy()
    keep_vectors(vectors, there, workspace)
    assert vectors_on_gpu(vectors, np.float64, bring, workspace) is there
    single = vectors_on_gpu(vectors, np.float32, bring, workspace)
    assert single.dtype == np.float32 and (single == vectors.astype(np.float32)).all() and bring.uploads == 0
    equal = vectors.copy()  # another array with the same numbers is not recognized
    assert vectors_on_gpu(equal, np.float32, bring, workspace) is not single and bring.uploads == 1
