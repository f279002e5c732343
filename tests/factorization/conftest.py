"""Fixtures for factorization tests."""

import pytest


@pytest.fixture
def one_thread():
    """Run with one thread, because training with several is not bit-identical."""
    from gpukit.runtime.thread_count import limit_threads

    with limit_threads(1):
        yield


@pytest.fixture
def as_of_many(monkeypatch):
    """Treat updates of few ratings as of many.

    A model is retrained when its ratings have doubled, and not whenever the whole history would be replayed.
    """
    from gpukit.factorization.constants import RULES

    monkeypatch.setattr(RULES, "early_retraining", 0)
