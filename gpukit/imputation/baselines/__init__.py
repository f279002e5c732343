"""Simple methods as baselines: a problem.Method each.

| file            | contents                                                                                      |
|-----------------|-----------------------------------------------------------------------------------------------|
| means.py        | means of columns, of vertices, of both; centering for other methods                           |
| series.py       | in time: linear interpolation, the last value                                                 |
| seasonal.py     | a vertex's mean at each time of the period, plus interpolated residuals                       |
| nearest.py      | the mean of a vertex's nearest neighbours on the graph                                        |
| smoothing.py    | Tikhonov regularization and feature propagation, column by column                             |
| smoothed.py     | these two as methods: centering, parameters                                                   |
"""
