"""Epochs of iALS on the CPU against the oracle."""

import numpy as np
import pytest

from factorization.solvers.ials import naive
from factorization.solvers.ials.inputs import TERMS, begun, clicks_of
from gpukit.errors import DataError
from gpukit.factorization.constants import RULES
from gpukit.factorization.settings import ROW_SOLVERS
from gpukit.factorization.solvers import cpu, ials
from gpukit.factorization.solvers.als import inverse_of
from gpukit.factorization.solvers.rates import USUAL
from gpukit.runtime.thread_count import limit_threads

SHAPE = (23, 14)


def sides(session):
    """Return (U, V) in float64."""
    state = session.state()
    return np.asarray(state.user_factors, float), np.asarray(state.item_factors, float)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("n_factors", [1, 5, 16])
@pytest.mark.parametrize("weighted, longest", [(False, 8192), (True, 4)])
def test_rows_are_solved_exactly(n_factors, weighted, longest, monkeypatch):
    """Three epochs by elimination, in one piece and in several.

    Each half uses the current other side.
    """
    monkeypatch.setattr(cpu, "LONGEST", longest)
    monkeypatch.setattr(ials, "faster_row_solver", lambda *facts: "cholesky")
    clicks = clicks_of(weighted=weighted)
    session, training = begun(clicks, SHAPE, n_factors)
    V, losses = sides(session)[1], []
    for epoch in range(3):
        training.epoch(epoch)
        U = naive.solved(clicks, SHAPE[0], 0, V, *TERMS)
        V = naive.solved(clicks, SHAPE[1], 1, U, *TERMS)
        found = sides(session)
        close(found[0], U)
        close(found[1], V)
        losses.append(naive.loss(clicks, *found, *TERMS))
    assert losses[0] > losses[1] > losses[2]


@pytest.mark.parametrize("n_factors", [1, 5, 16])
@pytest.mark.parametrize("weighted, longest", [(False, 8192), (True, 4)])
def test_conjugate_gradients(n_factors, weighted, longest, monkeypatch):
    """The steps of the oracle; rows in one piece and in several."""
    monkeypatch.setattr(cpu, "LONGEST", longest)
    monkeypatch.setattr(ials, "faster_row_solver", lambda *facts: "gradients")
    clicks = clicks_of(weighted=weighted)
    session, training = begun(clicks, SHAPE, n_factors)
    U, V = sides(session)
    for epoch in range(3):
        training.epoch(epoch)
        U = naive.descended(clicks, U, 0, V, *TERMS, RULES.gradient_steps)
        V = naive.descended(clicks, V, 1, U, *TERMS, RULES.gradient_steps)
        found = sides(session)
        close(found[0], U)
        close(found[1], V)


def test_a_few_steps_come_close(monkeypatch):
    """Three preconditioned steps match elimination; without preconditioner the loss is 1% larger."""
    clicks, losses = clicks_of(60, 40, 0.1, weighted=True), {}
    for way in ROW_SOLVERS[1:]:
        monkeypatch.setattr(ials, "faster_row_solver", lambda *facts, way=way: way)
        session, training = begun(clicks, (60, 40), 24)
        for epoch in range(2):
            training.epoch(epoch)
        losses[way] = naive.loss(clicks, *sides(session), *TERMS)
    assert losses["gradients"] == pytest.approx(losses["cholesky"], rel=2e-3)


@pytest.mark.parametrize("n, decay", [(5, 0.0), (100, 0.0), (100, 0.3)])
def test_the_inverse_that_preconditions(n, decay):
    """In panels; unknowns with zero rows are excluded."""
    half = np.random.default_rng(n).normal(size=(n, 3 * n)) * np.geomspace(1, 50, n)[:, None]
    half[[1, n - 1]] = 0
    shared = (half @ half.T).astype(np.float32)
    expected = np.linalg.pinv(shared + decay * np.eye(n), hermitian=True)
    found = inverse_of(shared, decay, cpu)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    assert found.dtype == np.float32 and (found[1] != 0).sum() == (decay > 0)


@pytest.mark.parametrize("seed", range(6))
def test_an_unknown_that_others_tell_is_left_alone(seed):
    """Its pivot is rounding, and nothing is divided by it."""
    half = np.random.default_rng(seed).normal(size=(5, 15)) * 1e3
    half[3] = half[0] / 7 + half[1] / 3
    shared = (half @ half.T).astype(np.float32)
    found, rest = inverse_of(shared, 0.0, cpu), [0, 1, 2, 4]
    expected = np.linalg.inv(shared[np.ix_(rest, rest)].astype(float))
    assert not found[3].any() and not found[:, 3].any()
    np.testing.assert_allclose(found[np.ix_(rest, rest)], expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_the_answer_has_the_least_loss(monkeypatch):
    """No small change of a solved row decreases the loss."""
    monkeypatch.setattr(ials, "faster_row_solver", lambda *facts: "cholesky")
    clicks = clicks_of(weighted=True)
    session, training = begun(clicks, SHAPE, 3)
    training.epoch(0)
    U, V = sides(session)
    least, rng = naive.loss(clicks, U, V, *TERMS), np.random.default_rng(0)
    for _ in range(20):
        moved = V + 1e-2 * rng.normal(size=V.shape)
        assert naive.loss(clicks, U, moved, *TERMS) > least


@pytest.mark.parametrize("way", ROW_SOLVERS[1:])
def test_any_number_of_threads(way, monkeypatch):
    """Bit-identical, with rows in several pieces."""
    monkeypatch.setattr(ials, "faster_row_solver", lambda *facts: way)
    monkeypatch.setattr(cpu, "LONGEST", 4)
    clicks, made = clicks_of(weighted=True), []
    for count in (1, 2):
        with limit_threads(count):
            session, training = begun(clicks, SHAPE, 9)
            for epoch in range(2):
                training.epoch(epoch)
            made.append(sides(session))
    for one, two in zip(*made):
        assert one.any()
        np.testing.assert_array_equal(one, two)


def test_weights_are_above_zero():
    with pytest.raises(DataError, match="above 0: the lowest is 0"):
        begun([*clicks_of(), (0, 5, 0.0)], SHAPE, 4)


def test_usual_parameters():
    assert USUAL["ials"]("adaptive", 10**6)["exponent"] == 1.0
    assert [ials.faster_row_solver(n) for n in (8, RULES.direct_factors, RULES.direct_factors + 1)] == [
        *["cholesky"] * 2,
        "gradients",
    ]
