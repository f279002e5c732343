"""Ways to learn a factorization, a folder each with the files of a room.

sgd      the papers' CUSGD++ and CULSH-MF        hogwild   batch-Hogwild, as cuMF_SGD has it
als      alternating least squares, as cuALS has it

For clicks: ials, alternating least squares over all pairs (loss squared); sampled, steps over clicks and sampled
negatives (losses cross-entropy and bpr).

Each has in `training.py` arrange(task), what can be made before the parameters are there, and begin(session, task,
arranged), which gives an object with epoch(number), one pass over the ratings that returns when it is done; in
`rates.py` usual(kind, n_ratings), the parameters where none are given.
"""

import importlib
from typing import NamedTuple

SOLVERS = ("sgd", "hogwild", "als")
LOSSES_OF = {"ials": ("squared",), "sampled": ("cross-entropy", "bpr")}  # solvers of clicks; the usual loss first


class Whole:
    """Which rows of a side (0: users, 1: items) a process solves for, and what it does when it has; all, and nothing.
    shared.rows.Share is of several."""

    def own(self, side):
        """(first, last + 1) of its rows; None: all."""
        return None

    def meet(self, side, table):
        """Return when all rows of a side's table are there."""


WHOLE = Whole()


class Task(NamedTuple):
    """What a solver is told: orders of the ratings (gpukit.ratings.orders), their arrays.Scale, prepare.ready.Ready,
    settings.Settings, layout.Layout, the device's steps (cpu.py or gpu.py), Device; whether every run must come to the
    same; of least squares, its share of the rows."""

    orders: object
    scale: object
    made: object
    settings: object
    layout: object
    steps: object
    device: object
    deterministic: bool
    share: object = WHOLE


def training_of(solver):
    """The module of a solver's training."""
    return importlib.import_module(f"{__name__}.{solver}.training")


def usual(solver, kind, n_ratings):
    """{'epochs', 'learning_rate' or None, 'regularization', 'annealing'} of a solver for so many ratings; kind: the
    rates that the estimator names."""
    return importlib.import_module(f"{__name__}.{solver}.rates").usual(kind, n_ratings)
