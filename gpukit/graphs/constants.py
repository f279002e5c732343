"""Constants that decide what a user gets from a graph or a table, with their sources.

*test*: a test fails without it; a paper; or *chosen*, a plain choice without an ablation. Tolerances and sizes that
only one module needs are in that module.
"""

CUT, SMALL = 4, 1_000  # a basis of more than N / CUT vectors, or of SMALL vertices, is a slice of the full one; chosen
SHIFT = 1e-3  # added to the Laplacian before it is inverted; chosen
BAND = 0.1  # fraction of the vertices: above this bandwidth the factor is not sparse; chosen
LEAST_WEIGHT = 0.1  # smallest weight of a distance that is kept; Li et al., ICLR 2018
SMALLEST_WEIGHT = 1e-3  # smallest assigned weight, so that remote vertices have neighbours; test
REPEATED = 1.5  # mean lines per time from which a line may be one reading; test
