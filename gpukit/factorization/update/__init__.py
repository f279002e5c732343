"""Ratings that keep coming: a fitted model takes new ratings, users and items, and is trained anew (retrain.py) only
when it has outgrown its settings.

Paper: Li et al. 2022, section 4.3, Algorithm 4: hash values counted again, neighbours of new items found, new rows
trained while the old ones stay (rows='frozen'). Beside that all rows may move (rows='move'), which is closer to
training anew: before the whole history is walked again factors shrink, as a warm start generalizes worse than a fresh
one (Ash and Adams, "On Warm-Starting Neural Network Training", NeurIPS 2020).

    updating.py  partial_fit, recommend_for: a mixin of the estimators
    settings.py  how an update goes about it, checked       inputs.py  new ratings in the model's rows, ids appended
    merge.py     the history with them in it; corrections   grow.py    the model's numbers with the new rows
    plan.py      how much is walked again, at which rates   run.py     one update: written once, for either device
    update_log.py      what is told of updates                    drift.py  what new ratings tell of the model before
    fold.py      a new user, by ridge regression on the items' numbers

Cost: the history is put in order once (O(ratings)); training walks the new ratings and `replay` earlier ones for each.
Deterministic: as training is.
"""
