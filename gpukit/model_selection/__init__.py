"""Model selection: candidates are compared on the same held-out data, user by user or query by query.

splits.py   keys and orders for samples and folds, whatever the order of the data
trial.py    a candidate's scores; paired comparison; the one-standard-error rule; a limit of work or time; early
            stopping of a candidate, also when it is behind the best one; finalists near the best candidate
search.py   candidates trained once on each split; lists of them, and steps along an axis, within a budget

Estimators say what their candidates are, and how one is trained and judged: factorization.choose (settings for
ratings), factorization.implicit.choosing (for clicks), factorization.tuning (cross-validation), ranking.selection,
imputation.auto.run (methods and their settings), imputation.smoothness.method (weights).
"""
