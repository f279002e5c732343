"""How good an answer is: one home for metrics and protocols.

| file       | what it does                                                                         |
|------------|--------------------------------------------------------------------------------------|
| metrics.py | RMSE, MAE, relative error, hit ratio, NDCG in three dialects, MAP, pairwise accuracy |
| ranking.py | every ranking metric of all queries at once, compiled                                |
"""
