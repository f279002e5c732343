"""Evaluate recommendation lists against later clicks.

| file            | contents                                                                                   |
|-----------------|--------------------------------------------------------------------------------------------|
| clicks.py       | `Clicks`: items that each user clicked; selection of test clicks                           |
| judge.py        | a predictor's lists over the full ranking, users in tiles: HR, recall, precision, NDCG,    |
|                 | MAP and MRR at k of every user; coverage, Gini of the lists                                |
| sampled.py      | one click against 99 sampled negatives, as in NCF; ties count by their mean                |
| negatives.py    | files of sampled negatives                                                                 |
| baselines.py    | popularity, for comparison (item kNN: gpukit/neighbors/item_knn.py)                        |
| significance.py | paired significance tests over users                                                       |

Known clicks are never in a list, so known test clicks are left out and counted, as are those of unknown items.
Krichene and Rendle (KDD 2020) explain why `judge` is more reliable than `sampled`.
"""
