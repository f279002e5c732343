"""Alternating least squares (cuALS's way): all users given the items, then all items given the users, each a small
linear system solved exactly.

training.py    an epoch, written once; its equations are those of squares/
rates.py       regularization and epochs by default

Papers: Zhou, Wilkinson, Schreiber and Pan, "Large-Scale Parallel Collaborative Filtering for the Netflix Prize", AAIM
2008 (weighted lambda); Tan, Cao and Fong, HPDC 2016 (on a GPU). Cost of an epoch: nnz F^2 / 2 multiplications a side
and (M + N) F^3 / 6. Deterministic: yes, for any number of threads.
"""
