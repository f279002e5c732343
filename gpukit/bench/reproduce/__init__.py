"""Tables and figures of the papers; the notes of the rows have the printed values.

| file         | contents                                                                           |
|--------------|------------------------------------------------------------------------------------|
| papers.py    | items of each paper by name, and printed values next to ours                       |
| solvers.py   | sections 5.2 and 5.3: Tables 4, 6 to 8, Figs. 6 to 10 (time, noise, neighbours)     |
| online.py    | section 5.3: Table 9 (online learning), and MovieLens 1M as a stream               |

Those of Zhou and Zhang 2021 are in bench/imputation.py, of Jin and Lin 2014 in bench/ranking.py.

All models run in one process on the same ratings. The RMSE of generated ratings is not comparable with the paper's.
"""
