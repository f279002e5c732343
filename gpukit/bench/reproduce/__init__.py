"""Tables and figures of the papers; the notes of the rows have the printed values.

| file         | contents                                                                           |
|--------------|------------------------------------------------------------------------------------|
| papers.py    | items of each paper by name, and printed values next to ours                       |
| solvers.py   | sections 5.2 and 5.3: Tables 4 and 6, Fig. 6 (time to train)                       |
| neighbors.py | sections 5.2 and 5.3: Table 7, Figs. 7 to 10 (neighbours)                          |
| online.py    | section 5.3: Table 9 (online learning), and MovieLens 1M as a stream               |
| pairs.py     | Jin and Lin 2014, section 4: Tables 1 to 3, Fig. 1                                 |

Those of Zhou and Zhang 2021 are in bench/imputation.py. All files from solvers.py to online.py are about Li et al.
2022.

All models run in one process on the same ratings. The RMSE of generated ratings is not comparable with the paper's.
"""
