"""A stand-in for a solver of clicks: the squared loss over all pairs, in float64, row by row."""

import numpy as np

from gpukit.factorization.model.layout import EXTRA


def usual(kind, n_ratings):
    """Parameters where none are given."""
    return {
        "epochs": 8,
        "learning_rate": None,
        "regularization": 0.01,
        "annealing": 1.0,
        "unobserved_weight": 0.3,
        "exponent": 1.0,
    }


def arrange(task):
    """What the solver reads."""
    return task.orders


def begin(session, task, orders):
    """The Training of a session."""
    return Training(session, task.settings, orders)


class Training:
    """Epochs of alternating least squares over all pairs."""

    def __init__(self, session, settings, orders):
        self.session, self.settings, self.orders = session, settings, orders

    def epoch(self, number):
        """Solve for all users, then for all items."""
        users, items = (table[:, : table.shape[1] - EXTRA] for table in self.session.parameters[:2])
        for order, own, other in ((self.orders.by_user, users, items), (self.orders.by_item, items, users)):
            self.solve(order, own, other)

    def solve(self, order, own, other):
        """Rows of one side given the other's."""
        weight, decay = self.settings.unobserved_weight, self.settings.regularization
        other = other.astype(np.float64)
        gram = weight * other.T @ other
        levels = np.append(self.orders.levels.values, 0)
        for row in range(len(own) - 1):
            mine = slice(*order.indptr[row : row + 2])
            rows, w = other[order.others[mine]], levels[order.codes[mine]]
            scaled = decay * (len(rows) + weight * (len(other) - 1)) ** self.settings.exponent
            own[row] = np.linalg.solve(gram + (rows.T * w) @ rows + scaled * np.eye(rows.shape[1]), rows.T @ w)
