"""Model selection: candidates are compared on the same held-out data, user by user.

splits.py   a sample that does not depend on the order of the data   budget.py   a limit of work
trial.py    a candidate's scores; paired comparison; the simplest candidate within one standard error
search.py   finalists near the best candidate; early stopping
"""
