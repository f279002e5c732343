"""Model selection for open options, on a hold-out of the training ratings.

With few ratings per user or item the default settings overfit within a dozen epochs. So a part of the ratings is held
out, damped biases and a few settings are tried on the others, and the best is trained again on all ratings. If ratings
are plenty, nothing is tried or held out.

    choice.py     whether to choose, open options, candidates on held-out parts; damped biases; the best one
    chosen.py     Choice: settings, trials, reason

Deterministic: as training is; the folds always.
"""
