"""How good an answer is: one home for metrics and protocols.

| file       | what it does                                                                             |
|------------|------------------------------------------------------------------------------------------|
| metrics.py | RMSE, MAE, relative error, hit ratio                                                     |
| ranking.py | NDCG in three dialects, MAP, pairwise accuracy, tau: of all queries at once, compiled    |
| lists/     | lists of items against what users clicked later: the full ranking, samples, significance |
| splits.py  | which rows are kept for training, in which fold they are, and tables parted by it        |
"""
