"""Model selection: candidates are compared on the same held-out data, user by user or query by query.

splits.py   keys for samples and folds that do not depend on the order of the data   budget.py   a limit of work
trial.py    a candidate's scores; paired comparison; finalists; the end of a path; the one-standard-error rule
"""
