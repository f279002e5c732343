"""Fixtures of this room."""

import pytest


@pytest.fixture
def one_thread():
    """One thread: with several, training does not repeat to the bit."""
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)
