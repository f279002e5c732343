"""Simple ways to fill in, that everything else has to beat: a problem.Method each.

| file            | what it has                                                                                   |
|-----------------|-----------------------------------------------------------------------------------------------|
| means.py        | the mean of a column, of a vertex, of both; what is taken off before others and put back      |
| series.py       | in time: linear interpolation, the last value                                                 |
| seasonal.py     | what a vertex usually is at that time of the period, and what is left of it                   |
| nearest.py      | the mean of a vertex's nearest neighbours on the graph                                        |
| smoothing.py    | Tikhonov's smoothing and feature propagation, column by column                                |
| smoothed.py     | these two as methods: what is taken off before, and by how much they smooth                   |
"""
