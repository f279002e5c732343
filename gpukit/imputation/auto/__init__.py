"""method='auto': every method judged on values that are hidden as values are missing; the best, or their mean, serves.

| file            | what it has                                                                                 |
|-----------------|---------------------------------------------------------------------------------------------|
| methods.py      | all methods by name, the cheap ones first                                                   |
| hiding.py       | what is hidden to judge by                                                                  |
| ends.py         | runs at the ends of series                                                                  |
| judging.py      | the errors of a method on it                                                                |
| places.py       | kinds of missing values: how far what is observed is                                        |
| mixing.py       | shares of the methods, a row for each kind                                                  |
| bending.py      | estimates bent to the middle of the hidden values beside them                               |
| deviations.py   | how far off a filled value is likely to be, by what was hidden                              |
| growth.py       | how series change over the distance, beyond their ends                                      |
| signs.py        | what errors grow with                                                                       |
| plan.py         | what was decided; a problem filled in by it                                                 |
| run.py          | from a problem to judged methods                                                            |
| settling.py     | from judged methods to a plan and its report                                                |
| kept.py         | settings of methods as a file has them, checked                                             |
| saving.py       | what a file keeps of a plan                                                                 |
| spectral.py     | the paper's algorithm among the methods                                                     |

A trial on one fold, of large data on some columns, shows which methods come near the best; those are judged on all
folds. Where a fold hides few runs, as days to come, settings are tried on all folds: one day tells no weekday from a
Sunday. Mixed are at most MEMBERS methods, and only where the mean errs less than the best of them by itself.
"""
