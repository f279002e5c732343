"""Fold-in of a new user by a list of clicks.

The problem is that of training, with fixed item parameters. On the host, in float64; the model is not changed.
"""

import numpy as np

from gpukit.factorization.answers.fold_in import neighborhood
from gpukit.factorization.implicit.states import split_states
from gpukit.factorization.model.layout import BIAS
from gpukit.factorization.model.state import weights_matrix
from gpukit.factorization.online.inputs import settings_of_model
from gpukit.factorization.solvers import solver_defaults
from gpukit.factorization.solvers.ials.formulas import fold_in, gram_of
from gpukit.factorization.solvers.squares.plan import solve_symmetric
from gpukit.factorization.twins import row_products


def scorer(model):
    """Return a function that scores all items for a fold_in.UserRatings.

    model: a fitted model of clicks. Scores are (N,) float64.
    """
    state, plan = model._state, settings_of_model(model, len(model._rated.items))
    bias = state.item_extras[:, BIAS].astype(np.float64)
    taste, weights = taste_of(state, plan, bias), weights_matrix(state)

    def scores(clicks):
        near = neighborhood(state, clicks, 0.0, slice(None)) + np.zeros(len(bias))
        result = taste(clicks, near) + bias + near
        if weights is not None:
            result += weights[clicks.items].sum(axis=0, dtype=np.float64)
        return result

    return scores


def taste_of(state, plan, bias):
    """Return the scoring function of the factors; its arguments are a fold.UserRatings and the neighbourhood's scores.

    bias (N,) float64: of the items.
    """
    if plan.solver == "ease":
        return lambda clicks, near: 0.0
    if plan.mixed:
        return mixed_scorer(state, plan)
    return squares_scorer(state, plan) if plan.solver == "ials" else cross_entropy_scorer(state, plan, bias)


def mixed_scorer(state, plan):
    """Return the scoring function of two models in one.

    Its arguments are a fold_in.UserRatings and the neighbourhood's scores.
    """
    one, other = split_states(state, plan)
    sampled_plan = plan._replace(**{**solver_defaults("sampled", plan.rates, 0), "solver": "sampled"})
    squares = squares_scorer(one, plan)
    chances = cross_entropy_scorer(other, sampled_plan, other.item_extras[:, BIAS].astype(np.float64))
    return lambda clicks, near: squares(clicks, near) + plan.mixed * chances(clicks, near / plan.mixed)


def squares_scorer(state, plan):
    """Return the scoring function of `ials`, u V'.

    Its arguments are a fold_in.UserRatings and the neighbourhood's scores.
    """
    gram = gram_of(state.item_factors)

    def products(clicks, near):
        indptr = np.array([0, len(clicks.items)])
        user = fold_in(state.item_factors, indptr, clicks.items, clicks.z, plan, gram)[0]
        return (1.0 - plan.popular) * row_products(state.item_factors, user).astype(np.float64)

    return products


def cross_entropy_scorer(state, plan, bias):
    """Return the scoring function b_i + u V' by cross-entropy.

    Its arguments are a fold_in.UserRatings and the neighbourhood's scores. It minimizes the cross-entropy of the user's
    clicks and of the other items by Newton's method. Other items are weighted by their expected number of draws.
    """

    most_items = 20_000  # maximum number of items without a click in the loss with sampled negatives

    def products(clicks, near):
        if not len(clicks.items):
            return np.zeros(len(bias))
        others = np.setdiff1d(np.arange(len(bias)), clicks.items)
        others = np.random.default_rng(plan.seed).permutation(others)[:most_items]
        rows = np.concatenate((clicks.items, others))
        truth = np.repeat((1.0, 0.0), (len(clicks.items), len(others)))
        weights = np.where(truth, 1.0, plan.n_negatives * len(clicks.items) / max(1, len(others)))
        design = np.column_stack((np.ones(len(rows)), state.item_factors[rows].astype(np.float64)))
        decay = max(plan.regularization, 1e-6) * (1 + plan.n_negatives) * len(clicks.items)
        result = newton(design, truth, weights, (bias + near)[rows], decay)
        return result[0] + state.item_factors.astype(np.float64) @ result[1:]

    return products


def newton(design, truth, weights, offset, decay):
    """Return x (F,) that minimizes a weighted, regularized cross-entropy.

    The cross-entropy is of sigma(design x + offset) with truth; the penalty is decay / 2 |x|^2.
    """
    steps = 12  # of Newton's method
    result = np.zeros(design.shape[1])
    for _ in range(steps):
        chance = 1.0 / (1.0 + np.exp(-np.clip(design @ result + offset, -30.0, 30.0)))
        slope = design.T @ (weights * (chance - truth)) + decay * result
        curve = (design.T * (weights * chance * (1.0 - chance))) @ design + decay * np.eye(len(result))
        step = solve_symmetric(curve, slope[:, None])[:, 0]
        result -= step / max(1.0, np.abs(step).max())
    return result
