"""Automatic method selection: judge candidates on hidden values, then use a weighted mean of the best ones.

| file              | contents                                                            |
|-------------------|---------------------------------------------------------------------|
| methods.py        | all methods by name, and the candidates of 'auto'                   |
| masking.py        | folds of hidden values                                              |
| ends.py           | runs of hidden values at the ends of series                         |
| judging.py        | errors of a method on hidden values                                 |
| gap_kinds.py      | kinds of missing values, by distance to the nearest observed value  |
| calibration.py    | correction of estimates by the median residual                      |
| ensemble.py       | weights of the methods for each kind                                |
| uncertainty.py    | standard deviations of imputed values                               |
| growth.py         | usual change of a series beyond its ends                            |
| error_features.py | features that predict the size of an error                          |
| plan.py           | the plan and its report from judged methods, imputation by a plan    |
| run.py            | trials, finalists and the decision                                  |

A trial finds the methods near the best. It uses one fold and, for large data, a subset of the columns. These methods,
at most FINALISTS of each group of values, are judged on all folds. If a fold hides few runs, such as days to forecast,
the trial uses all folds, because one day cannot separate weekdays from Sundays.
"""
