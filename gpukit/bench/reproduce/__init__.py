"""The papers' tables and figures: a function for each, yielding record.Rows whose notes have the printed values.

solvers.py     CULSH-MF's sections 5.2 and 5.3: Tables 4 and 6 (time to train)
neighbors.py   CULSH-MF's sections 5.2 and 5.3: Table 7, Figs. 7 to 10 (neighbours)
noise.py       its section 5.3: Table 8 (ratings replaced)
online.py      its online learning: Table 9, and MovieLens 1M as a stream
live.py        the same parts added to a model that stays on its device

Rivals and ours run in one process on the same ratings; generated ones are marked so, and their RMSE is not the paper's.
"""
