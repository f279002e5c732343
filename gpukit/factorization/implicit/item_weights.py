"""Weights between items (solvers/ease): their part of a State."""

import numpy as np

from gpukit.device import available_memory, free_memory, require_host
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.state import with_weights
from gpukit.factorization.solvers.ease import training


def matrix_of(clicks):
    """Return Ratings as a scipy.sparse.csr_array of ones (M, N)."""
    return training.matrix_of(*clicks.csr()[:2], clicks.shape[1])


def fits(n_items, device):
    """Return True if all weights between items fit main memory, and half of a GPU's for the lists."""
    free = free_memory(device)
    is_served = free is None or 2 * 4 * n_items**2 <= free
    return is_served and training.memory_of(n_items) <= available_memory()


def solve(clicks, decay, device):
    """Return weights between the items of Ratings: (N, N) float32, or a csr_array of lists if these do not fit.

    decay: regularization; device: a Device.
    """
    n_items, most = clicks.shape[1], RULES.weight_neighbors
    if not fits(n_items, device):
        needed = training.memory_of_lists(n_items, most)
        require_host(needed, f"Solving for {most} weights of each of {n_items:,} items")
        return training.solve_lists(clicks, decay, most, device)
    matrix = matrix_of(clicks)
    solved = training.solve_on_gpu(matrix, decay, device) if device.is_cuda else None
    return training.solve_weights(matrix, decay) if solved is None else solved


def add_item_weights(state, clicks, plan, device, solve=solve):
    """Return the State with the item weights of settings.Settings, if it has any; clicks: Ratings to learn."""
    if not plan.ease:
        return state
    return with_weights(state, solve(clicks, plan.item_decay, device) * np.float32(plan.ease))


class Resolution:
    """Solution of an update, by a correction of the inverse that the last update has left if that is less work.

    inverse: (P (n, n), lambda) of the last update, or None; users: rows with new clicks. Afterwards `inverse` is that
    of the new clicks, None if it has not been needed.
    """

    def __init__(self, model, users, inverse=None):
        self.inverse, self.users, rated = inverse, np.unique(users), model._rated
        self.X = training.matrix_of(rated.indptr[:-1], rated.items, len(model.item_ids_))  # the clicks before

    def solve(self, clicks, decay, device):
        """Return the weights of `solve`."""
        (inverse, known_decay), self.inverse = self.inverse or (None, None), None
        matrix, result = matrix_of(clicks), None
        if device.is_cuda or not fits(clicks.shape[1], device) or training.uses_users(matrix.shape, matrix.nnz):
            return solve(clicks, decay, device)
        old = self.users[self.users < self.X.shape[0]]
        work = training.work_of_correction(len(self.users) + len(old), matrix.shape[1])
        if known_decay == decay and work <= training.work_of(matrix.shape, matrix.nnz):
            result = training.correct_inverse(inverse, self.X[old], matrix[self.users], decay)
        if result is None or training.inverse_error(matrix.T.tocsr(), result, decay) > RULES.inverse_error:
            result = training.inverse_of(matrix.T.tocsr(), decay)
        self.inverse = result, decay
        return training.weights_of(result.copy())
