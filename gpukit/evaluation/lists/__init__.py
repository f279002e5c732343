"""How good lists are: what users clicked later, against the lists that they were shown. Rows in, numbers out.

| file            | what it does                                                                               |
|-----------------|--------------------------------------------------------------------------------------------|
| clicks.py       | `Clicks`: which items each user clicked; which test clicks can be judged                   |
| measures.py     | hit ratio, recall, precision, NDCG, MAP and MRR at k of every user                         |
| shown.py        | what is shown to anybody: coverage, Gini, popularity, items with few clicks                |
| judge.py        | a predictor's lists over the full ranking, users in tiles                                  |
| sampled.py      | one click against 99 others, as in NCF; ties count as what they are worth on average       |
| negatives.py    | files of such negatives                                                                    |
| baselines.py    | popularity and item kNN, to be beside any model                                            |
| significance.py | is one model better than another? Paired, over users                                       |

Known clicks are never in a list, so a test click that is known cannot be judged, nor one of an unknown item; they are
left out and counted. Krichene and Rendle (KDD 2020) say why `judge` is to be believed before `sampled`.
"""
