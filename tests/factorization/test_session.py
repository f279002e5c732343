"""The host steps of the GPU against those of the CPU: one epoch, predictions, recommendations, and the State back."""

import numpy as np
import pytest

from factorization.inputs import planted, problem, rates
from gpukit.factorization import schedule, training

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.factorization import cpu, gpu  # noqa: E402


@pytest.fixture(params=[(5, 0, "users"), (9, 3, "items")], ids=["plain", "neighbours"])
def sessions(request, monkeypatch):
    """(Ratings, CPU Session, GPU Session) of the same State, both ready to train without conflicts."""
    n_factors, n_neighbors, walk = request.param
    monkeypatch.setattr(gpu, "CODE_BLOCKS", 3)
    ratings = planted(8, 7, 0.5)
    scale = training.scale_of(ratings)
    z = ((ratings.values - np.float32(scale.mean)) / np.float32(scale.deviation)).astype(np.float32)
    rated, place = training.history_of(ratings, scale)
    state = problem(n_factors, n_neighbors, shape=(8, 7), n_ratings=5).state
    sides, shape = (ratings.users, ratings.items), ratings.shape
    if walk == "items":
        sides, shape = sides[::-1], shape[::-1]
    side = training.group(*sides, z, shape, seed=1, deterministic=True)
    tables = schedule.conflict_free_tables(side.indptr, side.minor, *side.blocks)
    query = training.training_query(rated, place, side)
    made = []
    for steps in (cpu, gpu):
        session = steps.Session(state, steps.layout(n_factors, n_neighbors), walk, rated)
        session.train_on(side, query, tables, side.blocks[2])
        made.append(session)
    return ratings, *made


def test_epochs_predictions_and_recommendations(sessions):
    ratings, mine, other = sessions
    for session in (mine, other):
        for epoch in range(2):
            session.epoch(rates(), schedule.turn_key(3, epoch))
    for expected, found in zip(mine.state(), other.state()):
        assert expected.shape == found.shape and expected.dtype == found.dtype
        np.testing.assert_allclose(found, expected, atol=2e-5)
    users, items = np.array([0, 8, 3, 0, 8], np.int32), np.array([1, 2, 7, 6, 7], np.int32)
    query = training.query_of(users, items, 8)
    expected, found = (session.predict(session.ask(users, items, query)) for session in (mine, other))
    np.testing.assert_allclose(found, expected, atol=2e-5)
    for hide in (True, False):
        best = [session.best(np.array([7, 0, 8], np.int32), 7, hide) for session in (mine, other)]
        (rows, scores), (found_rows, found_scores) = best
        np.testing.assert_allclose(found_scores, scores, atol=2e-5)
        np.testing.assert_array_equal(found_rows, rows)


def test_more_than_the_selection_kernel_takes(sessions, monkeypatch):
    _, mine, other = sessions
    users = np.array([7, 0, 8], np.int32)
    expected = mine.best(users, 7, True)
    monkeypatch.setattr(gpu, "MOST", 6)
    monkeypatch.setattr(gpu.selection, "smallest", None)
    for found, array in zip(other.best(users, 7, True), expected):
        np.testing.assert_allclose(found, array, atol=2e-5)


def test_nothing_is_asked(sessions):
    _, mine, other = sessions
    nothing = np.zeros(0, np.int32)
    for session in (mine, other):
        assert session.predict(session.ask(nothing, nothing, training.query_of(nothing, nothing, 8))).shape == (0,)
