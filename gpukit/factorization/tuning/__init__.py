"""Choosing the parameters of a factorization by cross-validation on the training ratings alone.

    from gpukit.factorization.tuning import tune
    found = tune(ratings)                  a Tuned: .best, .simplest, .table
    model = found.estimator().fit(ratings)

    grid.py    which settings are tried: checked, or chosen by how dense the ratings are
    fold.py    the ratings of one fold made ready once, for every setting
    entries.py  what a setting has come to: curves of RMSE by epoch, means and spreads, the choice
    search.py  `tune`: folds, rounds, the budget

What settings share: the order of a fold's ratings, its history, both ways of walking them, the neighbours of the
largest K, which are cut to smaller ones. Each training begins at its own start: one that went on from another's
parameters would end at an epoch that says nothing about a training from the beginning.

Cost: a training a setting on the first fold, and of those that come near the best one on each other fold.
Deterministic: folds and settings; RMSE as far as training is.
"""

__all__ = ["tune", "Tuned"]


def __getattr__(name):
    if name in __all__:
        from gpukit.factorization.tuning import search

        return getattr(search, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
