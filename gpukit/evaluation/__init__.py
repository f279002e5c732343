"""Metrics and evaluation protocols.

| file       | contents                                                                                 |
|------------|------------------------------------------------------------------------------------------|
| metrics.py | RMSE, MAE, relative error, hit ratio                                                     |
| ranking.py | NDCG in three variants, MAP, pairwise accuracy, tau: for all queries at once, compiled   |
| lists/     | item lists against later clicks: full ranking, sampled negatives, significance           |
| splits.py  | random and temporal splits, folds, and tables split by a mask                            |
"""
