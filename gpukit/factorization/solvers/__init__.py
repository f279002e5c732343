"""Solvers of the factorization, a module each, with kernels and twins in <solver>_kernels.py and <solver>_twins.py.

sgd/     the papers' CUSGD++ and CULSH-MF        als.py      alternating least squares, as in cuALS, and ials
hogwild.py  batch-Hogwild, as in cuMF_SGD, with hogwild_kernels.py and hogwild_twins.py

For clicks: ials.py, alternating least squares over all pairs (squared loss), with ials_kernels.py and ials_twins.py:
gradients from a row's clicks, a step of conjugate gradients, their preconditioner; ease.py, weights between items by
least squares, with ease_kernels.py and ease_twins.py: regressions of items on their neighbours; sampled.py, gradient
steps over clicks and sampled negatives (cross-entropy and bpr losses of sampled_formulas.py), with sampled_kernels.py
and sampled_twins.py.

Each solver's module, or `training.py`, has arrange(task), which prepares whatever does not need the parameters, and
begin(session, task, arranged). begin returns an object whose epoch(number) makes one pass over the ratings and
returns when the pass is complete.

rates.py         default hyperparameters of every solver, and learning rates by epoch
cpu.py | gpu.py  host steps of all but sgd
squares.py       normal equations of als and ials, with squares_formulas.py, squares_kernels.py and squares_twins.py:
                 sums of products, elimination in registers
"""

import importlib
from typing import NamedTuple

SOLVERS = ("sgd", "hogwild", "als")
LOSSES_OF = {  # solvers of clicks; the default loss first
    "ials": ("squared",),
    "ease": ("squared",),
    "sampled": ("cross-entropy", "bpr"),
}


class Task(NamedTuple):
    """Inputs of a solver.

    orders: orders of the ratings (gpukit.ratings.orders); scale: arrays.Scale; data: TrainingData; settings:
    settings.Settings; layout: layout.Layout; steps: the device's steps (cpu.py or gpu.py); device: Device;
    deterministic: True if every run must give the same result; share: shared.partition.Share of the rows to solve for,
    None: all (least squares only); streamed: orders and data are on the host, because they do not fit on the device
    (sgd only).
    """

    orders: object
    scale: object
    data: object
    settings: object
    layout: object
    steps: object
    device: object
    deterministic: bool
    share: object = None
    streamed: bool = False


def training_of(solver):
    """Return the training module of a solver: its own, or `training` in its folder; als.py is that of ials."""
    module = importlib.import_module(f"{__name__}.{'als' if solver == 'ials' else solver}")
    return module if hasattr(module, "arrange") else importlib.import_module(f"{module.__name__}.training")


def solver_defaults(solver, kind, n_ratings):
    """Return a solver's default hyperparameters for n_ratings ratings.

    The keys are 'epochs', 'learning_rate' (may be None), 'regularization' and 'annealing', and others for clicks. kind
    names the estimator's set of rates.
    """
    return importlib.import_module(f"{__name__}.rates").USUAL[solver](kind, n_ratings)
