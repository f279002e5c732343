"""Options that the user left open, chosen on a hold-out inside the training ratings.

Where a user or item has few ratings, what suits MovieLens does not: a dozen epochs learn the ratings by heart. So some
ratings judge, damped biases and a handful of settings are tried on the others, and what predicts best is trained again
on all of them. Where ratings are plenty nothing is tried and nothing is lost.

    rule.py        whether to choose, and what is open     candidates.py  what is tried, in which order
    sample.py      whether plenty of ratings are worth what is usual for them
    folds.py       who judges                              damping.py     the damped biases that all else begins with
    evaluator.py   settings trained on one preparation     choice.py      the best of them, and why
    budget.py      how much work it may be
    chosen.py      what was chosen: settings, trials, why  share.py      how much of it is to be believed

Deterministic: as training is; the folds always.
"""
