"""The host steps of the GPU against those of the CPU: one epoch, predictions, recommendations, and the State back."""

import numpy as np
import pytest

from factorization.inputs import planted, problem, rates
from gpukit.factorization import prepare
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.run import memory_kept
from gpukit.factorization.solvers.sgd import schedule

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.factorization import cpu, gpu


def ready(kind, steps, half=False):
    """(Ratings, Session) of a small State on cpu or gpu, ready to train without conflicts. kind: F, K and the walk."""
    n_factors, n_neighbors, walk = kind
    ratings = planted(8, 7, 0.5)
    scale, z = prepare.standardized(ratings)
    rated, place = prepare.history_of(ratings, scale)
    state = problem(n_factors, n_neighbors, shape=(8, 7), n_ratings=5).state
    side = prepare.group_by(walk, ratings, z, seed=1, deterministic=True)
    session = steps.Session(state, steps.layout(n_factors, n_neighbors, half), walk, rated)
    tables = schedule.conflict_free_tables(side.indptr, side.minor, *side.blocks)
    session.train_on(side, prepare.training_query(rated, place, side), tables, side.blocks[2])
    return ratings, session


@pytest.fixture(params=[(5, 0, "users"), (9, 3, "items")], ids=["plain", "neighbours"])
def kind(request, monkeypatch):
    """F, K and the walk."""
    monkeypatch.setattr(gpu, "CODE_BLOCKS", 3)
    return request.param


@pytest.fixture
def sessions(kind):
    """(Ratings, CPU Session, GPU Session) of the same State."""
    ratings, mine = ready(kind, cpu)
    return ratings, mine, ready(kind, gpu)[1]


def test_epochs_predictions_and_recommendations(sessions):
    ratings, mine, other = sessions
    for session in (mine, other):
        for epoch in range(2):
            session.epoch(rates(), schedule.turn_key(3, epoch))
    for expected, found in zip(mine.state(), other.state()):
        assert expected.shape == found.shape and expected.dtype == found.dtype
        np.testing.assert_allclose(found, expected, atol=2e-5)
    users, items = np.array([0, 8, 3, 0, 8], np.int32), np.array([1, 2, 7, 6, 7], np.int32)
    query = prepare.query_of(users, items, 8)
    expected, found = (session.predict(session.ask(users, items, query)) for session in (mine, other))
    np.testing.assert_allclose(found, expected, atol=2e-5)
    for hide in (True, False):
        best = [session.best(np.array([7, 0, 8], np.int32), 7, hide) for session in (mine, other)]
        (rows, scores), (found_rows, found_scores) = best
        np.testing.assert_allclose(found_scores, scores, atol=2e-5)
        np.testing.assert_array_equal(found_rows, rows)


def test_half_precision(kind):
    """As single precision to a float16 number's last places; the side that is walked stays float32."""
    (_, single), (_, half) = (ready(kind, gpu, precision) for precision in (False, True))
    for epoch in range(2):
        for session in (single, half):
            session.epoch(rates(), schedule.turn_key(3, epoch))
    for expected, found in zip(single.state(), half.state()):
        assert expected.shape == found.shape and expected.dtype == found.dtype
        np.testing.assert_allclose(found, expected, atol=4e-3)
    walked, other = major_first(kind[2], half.state().user_factors, half.state().item_factors)
    assert (other == other.astype(np.float16)).all() and (walked != walked.astype(np.float16)).any()
    users, items = np.array([0, 8, 3, 0, 8], np.int32), np.array([1, 2, 7, 6, 7], np.int32)
    query = prepare.query_of(users, items, 8)
    expected, found = (session.predict(session.ask(users, items, query)) for session in (single, half))
    np.testing.assert_allclose(found, expected, atol=8e-3)
    with pytest.raises(ValueError, match="single precision"):
        half.best(np.array([7, 0, 8], np.int32), 7, True)


@pytest.mark.parametrize("half", [False, True])
def test_memory_on_paper(kind, half):
    """What fitting.check_memory asks a GPU for is what a Session's arrays take."""
    ratings, session = ready(kind, gpu, half)
    (P, Q, influence, offsets), (minor, values, codes, _) = session.parameters, session.batch
    arrays = [P, Q, minor, values]
    if kind[1]:
        arrays += [codes, session.near, influence, offsets]
    taken = sum(array.size * array.dtype.itemsize for array in arrays)
    assert memory_kept(len(ratings), major_first(kind[2], *ratings.shape), session.layout) == taken


def test_nothing_is_asked(sessions):
    _, mine, other = sessions
    nothing = np.zeros(0, np.int32)
    for session in (mine, other):
        assert session.predict(session.ask(nothing, nothing, prepare.query_of(nothing, nothing, 8))).shape == (0,)
