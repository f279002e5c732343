"""Automatic method selection: judge candidates on hidden values, then use a weighted mean of the best ones.

| file              | contents                                                            |
|-------------------|---------------------------------------------------------------------|
| masking.py        | folds of hidden values, also at the ends of series                   |
| judging.py        | errors of a method on hidden values; kinds of missing values         |
| uncertainty.py    | standard deviations of imputed values, and their features            |
| plan.py           | all methods; weights and correction of their mean; imputation by it  |
| run.py            | trials, finalists and the decision                                  |

A trial finds the methods near the best: a model_selection.Search over the settings of each one. It uses one fold and,
for large data, a subset of the columns. These methods, at most FINALISTS of each group of values, are judged on all
folds. If a fold hides few runs, such as days to forecast, the trial uses all folds, because one day cannot separate
weekdays from Sundays.
"""
