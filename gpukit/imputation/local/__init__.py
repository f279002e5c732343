"""Local regression in time and on the graph: what a vertex's like ones did meanwhile, beside its own values.

A missing value is the line between the vertex's nearest observed values, before and after it, plus

    beta' x        x: how far its second and third values before and after lie from that line's point; and of each of
                   the series most like its own (of the vertex itself too: by a matrix of low rank, and a period away)
                   how far it lies there from its own line over the same gap, and from the point, at the column, before
                   and after it

so that beta = 0 is interpolation. beta is learned on values hidden as values are missing: from all of them, then from
those of a kind (auto.places), then from those of a kind and a vertex, each drawn towards the one before by a ridge as
heavy as so many values with features of the usual size: how many is found on a fold, for each kind. Absolute errors are
minimized by reweighting. The series of the others are filled in by interpolation, then by the first answer, and all is
done again.

    plan.py      sizes                              learning.py   what is hidden, coefficients, what is filled in
    alike.py     the series most like a vertex's    method.py     the method 'local'
    formulas.py  scalar maths                       table.py      coefficients level by level
                                                    regression.py many regressions, piece by piece
    cpu.py | gpu.py -> twins.py | kernels.py        features, regressions, answers

Cost: a value's 4 series + 6 features, squared, for each round of a regression. Deterministic on one machine.
"""
