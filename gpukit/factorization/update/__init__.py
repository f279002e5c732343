"""Online updates: a fitted model learns new ratings, users and items.

The model is retrained from scratch only when it has outgrown its settings (retrain.py).

Paper: Li et al. 2022, section 4.3, Algorithm 4. Hash values are updated, neighbours of new items are searched, and new
rows are trained while old rows stay fixed (rows='frozen'). With rows='move' all rows may change, which is closer to
retraining. Factors shrink before an epoch over the whole history, because a warm start generalizes worse than a fresh
one (Ash and Adams, "On Warm-Starting Neural Network Training", NeurIPS 2020).

    updating.py  partial_fit, recommend_for: a mixin of the estimators
    settings.py    validated options of an update          inputs.py  new ratings in the model's rows, new ids appended
    merge.py       the merged history; corrections         grow.py    model parameters with the new rows
    plan.py        replayed history and learning rates     run.py     one update, on either device
    update_log.py  entries of updates_                     drift.py   fit of the model to the new ratings
    fold.py        fold-in of a new user by ridge regression
    retrain.py     retraining on the whole history

Cost: the history is sorted once (O(ratings)); training iterates over the new ratings and `replay` old ones for each.
Deterministic: as training is.
"""
