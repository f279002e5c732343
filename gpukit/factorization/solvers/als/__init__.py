"""Alternating least squares, as in cuALS: all users given the items, then all items given the users.

Each row is the solution of a small linear system.

training.py    an epoch, for either device; its equations are those of squares/

Papers: Zhou, Wilkinson, Schreiber and Pan, "Large-Scale Parallel Collaborative Filtering for the Netflix Prize", AAIM
2008 (weighted lambda); Tan, Cao and Fong, HPDC 2016 (on a GPU). Cost of an epoch: nnz F^2 / 2 multiplications per side
and (M + N) F^3 / 6. Deterministic: yes, for any number of threads.
"""
