"""Fixtures for factorization tests."""

import pytest


@pytest.fixture
def one_thread():
    """Run with one thread, because training with several is not bit-identical."""
    from gpukit.runtime.thread_count import limit_threads

    with limit_threads(1):
        yield


@pytest.fixture
def without_retraining(monkeypatch):
    """Let updates of any size train the rows of new ratings, and never retrain the model."""
    from gpukit.factorization.constants import RULES

    monkeypatch.setattr(RULES, "growth_part", 1)
