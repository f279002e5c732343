"""Metrics and evaluation protocols.

| file       | contents                                                                                 |
|------------|------------------------------------------------------------------------------------------|
| metrics.py | RMSE, MAE                                                                                |
| ratings.py | errors of a mean and of biases; users and items that have ratings; splits by a mask    |
| ranking.py | NDCG in three variants, MAP, pairwise accuracy, tau: for all queries at once, compiled   |
| lists.py   | item lists against later clicks; popularity                                             |
| significance.py | paired tests of two models over users                                               |
| splits.py  | random and temporal splits, folds, and tables split by a mask                            |
"""
