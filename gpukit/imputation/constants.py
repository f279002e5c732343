"""Constants of imputation that several modules share, or that decide what a user gets.

Each line gives the meaning and the source: *ablated*, a table in docs/imputation.md; *test*, a test that fails without
it; a paper; or *chosen*, a plain choice without an ablation. Sizes of batches and launches that only one module needs
are in that module.
"""

# Held-out values (auto/masking.py)
FEW_UNITS = 20  # vertices are hidden one by one, and a trial uses all folds; ablated
LEAST_SHARE = 0.05  # of the observed values to hide; chosen
RUNS_PER_SERIES = 6  # observed values per value of a shortened run at an end of most series; ablated
FEWEST_OBSERVED = 5  # vertices or values needed to hide any; test

# Finalists and their weights (auto/run.py, auto/plan.py)
NEAR = 1.5  # largest error of a finalist, relative to the least one; ablated
FINALISTS = 3  # for each group of values; ablated
ROUNDING = 1e-6  # relative: smaller differences and spreads are rounding

# Correction of estimates (auto/plan.py), ablated as a whole
KNOTS = 16

# Standard deviations (auto/uncertainty.py), ablated as a whole
COVERED = 0.9  # share of left-out errors within the 90 % intervals; ablated
ENOUGH_VALUES = 50  # errors for a scale of a kind, and for beta of a group; ablated
ERROR_FLOOR = 0.1  # of an error, relative to the mean |error|: in logarithms, and in weights of a reweighted regression

# The paper's algorithm (spectral/)
NEARLY_EQUAL = 1.01  # times the least error: errors that count as equal; chosen
FREQUENCY_FLOOR = 0.05  # of a frequency weight, so that the smoothest slices are thresholded too; chosen
PATH_END = 1e-3  # lambda at the end of a path, relative to its start; chosen, the paper has none

# Methods
PRIOR_CHANGES = 10.0  # changes of usual size added to those of a vertex or an edge; chosen
MOST_SERIES = 8  # series that predict a value; chosen

# Limits of time and memory
KRIGING_VERTICES = 3000  # most of kriging
KRIGING_GRID_VERTICES = 600  # with more, kriging tries fewer covariances and all threads serve one matrix
MOST_VALUES = 20_000  # hidden values for coefficients of all vertices, and for scores of deviations
FEWEST_VERTICES = 1 << 14  # of the patches of a large graph that methods are judged on; above all methods' limits
SAMPLE_NUMBERS = 1 << 21  # of a tensor's sample, or of many folds
BLOCK_NUMBERS = 1 << 19  # of a thread's block

# Launches of kernels; sums over blocks have the same blocks on both devices
THREADS = 256
BLOCKS = 264  # two per multiprocessor of a GPU with 132
