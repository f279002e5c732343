"""`gpukit evaluate`: evaluation of a model's predicted ratings and lists.

evaluate.py   the verb                       lists.py   lists: tables, remarks, JSON; also for a training on clicks
ratings.py    predicted ratings: RMSE, MAE
"""
