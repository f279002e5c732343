"""The copy of a basis's vectors on the device: which is kept, and when it is made anew. numpy stands in for cupy."""

import numpy as np
import pytest

from gpukit.graphs import resident


class Library:
    """cupy, of which only uploads are wanted."""

    def __init__(self):
        self.uploads = 0

    def asarray(self, array):
        self.uploads += 1
        return np.array(array)


@pytest.fixture(autouse=True)
def nothing_kept():
    resident.forget()
    yield
    resident.forget()


def test_vectors_go_up_once_for_a_type():
    library, vectors, others = Library(), np.eye(4), np.eye(5)
    first = resident.on_device(vectors, np.float32, library)
    assert first.dtype == np.float32 and (first == vectors).all()
    assert resident.on_device(vectors, "float32", library) is first and library.uploads == 1
    assert (resident.on_device(others, np.float32, library) == others).all() and library.uploads == 2
    assert (resident.on_device(vectors, np.float32, library) == vectors).all() and library.uploads == 3


def test_vectors_computed_there_need_not_go_up():
    library, vectors = Library(), np.random.default_rng(0).normal(size=(4, 4))
    there = vectors.copy()
    resident.keep(vectors, there)
    assert resident.on_device(vectors, np.float64, library) is there
    single = resident.on_device(vectors, np.float32, library)
    assert single.dtype == np.float32 and (single == vectors.astype(np.float32)).all() and library.uploads == 0
    equal = vectors.copy()  # another array with the same numbers is not known to be the same
    assert resident.on_device(equal, np.float32, library) is not single and library.uploads == 1
