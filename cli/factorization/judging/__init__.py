"""`gpukit evaluate`: what a model's ratings and lists are worth.

evaluate.py   the verb                       lists.py        lists: tables, remarks, JSON; train-lshmf's too
ratings.py    predicted ratings: RMSE, MAE   difference.py   two models beside each other
clicks.py     the closing lines of a training on clicks
"""
