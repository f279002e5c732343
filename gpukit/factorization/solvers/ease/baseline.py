"""EASE as a baseline of lists: its default regularization, on the CPU."""

import numpy as np

from gpukit.device import available_memory
from gpukit.evaluation.lists.baselines import Popularity
from gpukit.evaluation.lists.clicks import Clicks
from gpukit.factorization.arrays import NUMBERS
from gpukit.factorization.solvers import solver_defaults
from gpukit.factorization.solvers.ease import training


class Ease(Popularity):
    """Recommend the items with the highest positive scores of EASE; others by popularity."""

    name = "EASE"

    def __init__(self, learned, n_items, known=None):
        """Arguments as Popularity."""
        super().__init__(learned, n_items, known)
        decay = solver_defaults("ease", "adaptive", len(learned.items))["regularization"]
        self.weights = training.solve_weights(training.matrix_of(*learned, n_items), decay)
        self.clicked = training.matrix_of(*self.known, n_items)

    @staticmethod
    def is_affordable(learned: Clicks, n_items):
        """Return True if the solution takes a few seconds and half of the main memory at most."""
        most_work = 4e9  # in multiplications of training: about 8,000 items
        work = training.work_of((len(learned.indptr) - 1, n_items), len(learned.items))
        return work <= most_work and 2 * training.memory_of(n_items) <= available_memory()

    def pair_scores(self, rows, items):
        """Return scores (B, C) float32 of items (B, C) for users (B,), known clicks included."""
        out, step = np.empty(items.shape, np.float32), max(1, NUMBERS // self.n_items)
        for first in range(0, len(rows), step):
            tile = slice(first, first + step)
            out[tile] = np.take_along_axis(self.clicked[rows[tile]] @ self.weights, items[tile], 1)
        return out

    def best(self, rows, n):
        """Return the items (b, n) int32 with the best positive scores, -1 after the last."""
        lists, step = np.empty((len(rows), n), np.int32), max(1, NUMBERS // self.n_items)
        for first in range(0, len(rows), step):
            tile = slice(first, first + step)
            clicked = self.clicked[rows[tile]]
            scores = clicked @ self.weights
            scores[np.repeat(np.arange(len(scores)), np.diff(clicked.indptr)), clicked.indices] = -np.inf
            best, values = training.best_columns(scores, n)
            lists[tile] = np.where(values > 0, best, -1)
        return lists
