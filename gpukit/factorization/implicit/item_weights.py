"""Weights between items (solvers/ease): their part of a State, and the choice of their regularization."""

from typing import NamedTuple

import numpy as np

from gpukit.device import require_host
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.state import round_weights
from gpukit.factorization.solvers import usual
from gpukit.factorization.solvers.ease import gpu, training
from gpukit.factorization.solvers.rates import EASE_GROWTH
from gpukit.model_selection.trial import TRAININGS, best_of, round_digits


def matrix_of(clicks):
    """Return Ratings as a scipy.sparse.csr_array of ones (M, N)."""
    return training.matrix_of(*clicks.csr()[:2], clicks.shape[1])


def solve(clicks, decay, device):
    """Return weights (N, N) float32 between the items of Ratings; decay: regularization; device: a Device."""
    n_items, matrix, solved = clicks.shape[1], matrix_of(clicks), None
    if device.is_cuda:
        solved = gpu.solve_weights(matrix, decay, device)
    if solved is None:
        require_host(training.memory_of(n_items), f"Solving for the weights between {n_items:,} items")
        solved = training.solve_weights(matrix, decay)
    return solved


def with_share(state, solved, share):
    """Return the State with a share of weights (N, N) in its score."""
    return state._replace(item_weights=solved * np.float32(share))


def add_item_weights(state, clicks, plan, device):
    """Return the State with the item weights of settings.Settings, if it has any; clicks: Ratings to learn."""
    if not plan.ease:
        return state
    solved = solve(clicks, plan.item_decay, device)
    solved *= np.float32(plan.ease)
    return state._replace(item_weights=round_weights(solved))


class Ridge(NamedTuple):
    """Regularization of item weights that was chosen: its Trial, and the number of training clicks of that."""

    trial: object
    count: int

    def at(self, n_clicks):
        """Return the regularization for n_clicks."""
        return round_digits(self.trial.candidate.regularization * (n_clicks / self.count) ** EASE_GROWTH)


def choose_ridge(contests, plan):
    """Return the Ridge of the first Contest whose search costs at most a training; None if none does.

    contests: the largest samples first; plan: settings.Settings.
    """
    for contest in contests:
        search = RidgeSearch(contest, plan)
        if RULES.ridge_trials * search.work <= contest.budget.limit / TRAININGS:
            return Ridge(search.run(), len(contest.clicks))
    return None


class RidgeSearch:
    """Search for the regularization of item weights on the held-out clicks of a Contest.

    contest: choosing.Contest; trials whose draws have the same users are averaged. plan: settings.Settings.
    """

    def __init__(self, contest, plan):
        self.contest, self.plan, self.trials = contest, plan, {}
        self.matrices = [matrix_of(evaluator.prepared.clicks) for evaluator in contest.evaluators]

    @property
    def best(self):
        """The Trial with the highest mean."""
        return best_of(self.trials.values())

    @property
    def work(self):
        """Work of a trial, in multiplications of training."""
        return sum(training.work_of_scores(matrix.shape, matrix.nnz) for matrix in self.matrices)

    def run(self):
        """Return the best Trial of steps while the mean rises, and of one between the best and a neighbour.

        The search ends with the Budget.
        """
        most_steps = 4
        self.measure(usual("ease", "adaptive", len(self.contest.clicks))["regularization"])
        for factor in (1.0 / RULES.ridge_step, RULES.ridge_step):
            for _ in range(most_steps):
                if self.contest.budget.is_spent:
                    return self.best
                start = self.best.candidate.regularization
                if self.measure(start * factor) is not self.best:
                    break
        best, tried = self.best.candidate.regularization, sorted(self.trials)
        place = tried.index(best)
        neighbors = tried[max(0, place - 1) : place] + tried[place + 1 : place + 2]
        self.measure((best * max(neighbors, key=lambda decay: self.trials[decay].mean)) ** 0.5)
        return self.best

    def measure(self, decay):
        """Return the Trial of a regularization."""
        decay = round_digits(decay)
        if decay not in self.trials:
            measures = []
            for evaluator, matrix in zip(self.contest.evaluators, self.matrices):
                measures.append(evaluator.measure_scores(training.solve_scores(matrix, evaluator.users, decay)))
            self.contest.budget.spend(self.work)
            plan = self.plan._replace(solver="ease", loss="squared", regularization=decay, ease=1.0)
            self.trials[decay] = self.contest.report(plan, np.mean(measures, axis=0), [], "ease")
        return self.trials[decay]
