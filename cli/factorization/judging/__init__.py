"""`gpukit evaluate`: evaluation of a model's predicted ratings and lists.

evaluate.py   the verb                       lists.py        lists: tables, remarks, JSON; also for train-lshmf
ratings.py    predicted ratings: RMSE, MAE   difference.py   comparison of two models
clicks.py     the closing lines of a training on clicks
"""
