"""Twin of kernels/minor.py."""

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.model.layout import BIAS, EXTRA, SQUARES
from gpukit.factorization.solvers.sgd.batches.twins.team import add, learn
from gpukit.factorization.solvers.sgd.formulas import F32
from gpukit.factorization.twins.rows import dot
from gpukit.scheduler import by_block


@njit
def _walk_seen(slots, at_once, seen, q, rates):
    """Process one minor row."""
    n = q.size - EXTRA
    change = np.zeros(n + SQUARES + 1, F32)
    for t in range(slots.size):
        p = seen[slots[t]]
        error = p[n] - (dot(p, q, n) + q[n + BIAS])
        learn(change, q, p, n, error, rates)
        if (t + 1) % at_once == 0 or t + 1 == slots.size:
            add(q, change)


@by_block(lambda rows: rows.size)
def walk_minor(start, stop, starts, slots, rows, at_once, seen, Q, rates):
    """Twin of kernels.walk_minor."""
    for k in range(start, stop):
        if starts[k + 1] > starts[k]:
            _walk_seen(slots[starts[k] : starts[k + 1]], at_once[k], seen, Q[rows[k]], rates)
