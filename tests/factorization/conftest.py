"""Fixtures of this room."""

import pytest


@pytest.fixture
def one_thread():
    """One thread: with several, training does not repeat to the bit."""
    from gpukit.runtime.thread_count import limited

    with limited(1):
        yield


@pytest.fixture
def as_of_many(monkeypatch):
    """Updates of few ratings as of many: trained anew when these have doubled, not whenever all would be walked."""
    from gpukit.factorization.update import retrain

    monkeypatch.setattr(retrain, "FEW", 0)
