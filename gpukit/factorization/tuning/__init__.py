"""Hyperparameters of a factorization by cross-validation on the training ratings.

    from gpukit.factorization.tuning import tune
    found = tune(ratings)                  a Tuned: .best, .simplest, .table
    model = found.estimator().fit(ratings)

    grid.py    settings to try: validated, or by the density of the ratings
    search.py  `tune`: folds, prepared once for every setting; rounds, the budget; results and selection

Settings share the order of a fold's ratings, its history, the preparations for both major sides, and the neighbours of
the largest K, which are cut to smaller ones. Each training begins at its own start: with a warm start its number of
epochs would not hold for a training from the beginning.

Cost: one training a setting on the first fold, and one on each other fold for the settings near the best.
Deterministic: folds and settings; RMSE if training is.
"""

from gpukit._lazy import on_demand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpukit.factorization.tuning.search import Tuned as Tuned
    from gpukit.factorization.tuning.search import tune as tune

_HOMES = {
    "tune": "search",
    "Tuned": "search",
}
__all__ = sorted(_HOMES)
if not TYPE_CHECKING:
    __getattr__, __dir__ = on_demand(__name__, _HOMES)
