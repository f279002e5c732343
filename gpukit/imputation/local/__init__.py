"""Local regression in time and on the graph, from a vertex's own values and those of similar vertices.

A missing value is the line between the vertex's nearest observed values, before and after it, plus

    beta' x        x: distances of its second and third values before and after from that line's point; and for each
                   of the most similar series (also the vertex's values a period away) the distance from its own line
                   over the same gap, and its distances to the point, at the column, before and after it

so that beta = 0 is interpolation. beta is fitted on values hidden like the missing ones: first on all of them, then on
each kind (auto.judging.kinds), then on each kind and vertex. Each fit is shrunk to the previous one by a ridge,
whose size, in values with features of usual size, is selected on a fold for each kind. Absolute errors are minimized by
reweighting. The other series are filled in by interpolation, then by the first result, and all fits are repeated.

    method.py    the method 'local'                  regression.py many regressions, level by level
    formulas.py  scalar formulas, sizes of features
    cpu.py | gpu.py -> twins.py | kernels.py         features, regressions, predictions

Cost: the square of a value's 4 series + 6 features, for each round of a regression. Deterministic on one machine.
"""
