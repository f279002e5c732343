"""Constants of imputation that several modules share, or that decide what a user gets.

Each line gives the meaning and the source: *ablated*, a table in docs/imputation.md; *test*, a test that fails without
it; a paper; or *chosen*, a plain choice without an ablation. Sizes of batches and launches that only one module needs
are in that module.
"""

# Held-out values (auto/masking.py)
FOLDS = 5  # chosen; also 1 over the share of series that lose an end in one fold
LEAST_FOLDS, MOST_FOLDS = 2, 12  # with many runs and with few; chosen
LEARNING_FOLDS = 8  # most folds that the local regression learns from; chosen
MANY_RUNS = 2000  # in one fold, from which on LEAST_FOLDS suffice; chosen
ENOUGH_UNITS = 40  # vertices and start times of runs in all folds; chosen
FEW_UNITS = 20  # vertices are hidden one by one, and a trial uses all folds; ablated
LEAST_SHARE = 0.05  # of the observed values to hide; chosen
ENOUGH_HIDDEN, IDLE_DRAWS = 0.8, 10  # of that share, and draws in a row with hardly anything new, end drawing; chosen
FEWEST_OBSERVED = 5  # vertices or values needed to hide any; test
FEWEST_OTHERS = 10  # series observed at an end; fewer are a weaker sample than runs at other times; test
GAP_DISTANCES = (1, 2, 4, 8, 16, 32)  # columns to the nearest observed value, by kind of gap; chosen

# Finalists and their weights (auto/run.py, auto/ensemble.py)
NEAR = 1.5  # largest error of a finalist, relative to the least one; ablated
FINALISTS = 3  # for each group of values; ablated
SHARE_STEPS = (0.5, 0.3, 0.2, 0.1, 0.05)  # of Frank-Wolfe steps; chosen
FEWEST_UNITS = 6  # runs at different times to fit shares to; ablated
LEAST_WEIGHT = 0.005  # members whose largest weight is smaller are dropped; chosen
ROUNDING = 1e-6  # relative: smaller differences and spreads are rounding

# Correction of estimates (auto/ensemble.py), ablated as a whole
KNOTS = 16
VALUES_PER_KNOT = 40
MOST_RISE = 1.1  # largest root mean square, relative: among many zeros the median is 0, whatever the others are; test

# Standard deviations (auto/uncertainty.py, auto/error_features.py), ablated as a whole
COVERED, MOST_COVERED = 0.9, 0.95  # share of left-out errors within the 90 % intervals; most, with few units; ablated
ENOUGH_VALUES = 50  # errors for a scale of a kind, and for beta of a group; ablated
LAW_RIDGE = 0.02  # relative to the number of errors
ERROR_FLOOR = 0.1  # of an error, relative to the mean |error|: in logarithms, and in weights of a reweighted regression
EXTRAPOLATION = 2.0  # largest exponent; spreads of a feature from its mean
STRENGTHS = (1.0, 0.5, 0.0)  # of the features, and powers of the growth beyond ends; ablated
FEATURE_FLOOR = 0.02  # relative to the feature's mean; chosen
PRIOR_COLUMNS = 0.15  # columns of average departure added to each mean of departures; chosen
ERROR_NEIGHBORS = 10  # nearest neighbours on the graph; chosen
USUAL_COVARIANCE = (3.0, 2.0, 0.03)  # rho, nu, tau of the kriging variance; chosen
NOISE_WINDOWS = (16, 32, 64)  # last changes of a series, whose mean is its noise beyond the end; chosen

# The paper's algorithm (spectral/)
SPLITS = 4  # of the observed values; chosen
NEAR_SPECTRAL, NEARLY_EQUAL = 1.05, 1.01  # times the least error: finalists; errors that count as equal; chosen
SOLVED = 0.1  # times the error of the mean: the data are of low rank; test
PATIENCE = 6  # steps without a new least error that end a trial; chosen
FREQUENCY_FLOOR = 0.05  # of a frequency weight, so that the smoothest slices are thresholded too; chosen
PATH_END = 1e-3  # lambda at the end of a path, relative to its start; chosen, the paper has none
WAIT = 2.0  # relative change per lambda's share above which lambda waits; chosen
RANK_TOLERANCE = 1e-4  # times tolerance: end of the phase of fixed ranks, which converges linearly
CLEAR_RATIO = 3.0  # least ratio of adjacent singular values of a clear rank; test
DISTINCT_RATIO = 2.0  # least ratio to the next largest ratio, and least mean ratio of a common rank; test
CLEAR_SHARE = 0.8  # least share of slices with clear ranks if there is no common one; test
DISSENT = 0.75  # power of the usual ratio: slices with a less clear other rank get the common one; test
STEEP = 16  # power of a slice's unobserved share in the confidence; the best of 15 models, spectral/confidence.py

# Methods
RANGE_MARGIN = 0.25  # of a vertex's range, added on either side as the limits of predictions; test
SCALE_FLOOR = 0.05  # least scale of a vertex, relative to the usual one; test
PRIOR_CHANGES = 10.0  # changes of usual size added to those of a vertex or an edge; chosen
MOST_SERIES = 8  # series that predict a value; chosen
KIND_RIDGE = 100.0  # weight of a kind's start, in values; chosen
VERTEX_RIDGE = 30.0  # weight of a vertex's start, in values; ablated
REWEIGHTINGS = 3  # for absolute errors; ablated: with 5 not less
PASSES = 2  # fits of the local regression, each with the series of the last one; ablated
VALUES_PER_VERTEX = 1_000  # hidden values of one kind and vertex to learn from; chosen
PERIOD_WEIGHTS = (0.1, 0.01)  # s of smoothness before finer steps; chosen
FACTORS = (4.0, 2.0)  # of the weights of smoothness, for each round of the search; ablated
MOST_TRIALS = 40  # of the weights of smoothness; chosen
KRIGING_COLUMNS = 64  # columns of a band for leave-one-out errors; chosen

# Data (inputs.py, periods.py, serve.py, problem.py, tables/clock.py)
CODE_COUNT, CODE_DISTANCE = 3, 3.0  # a code for missing: least count, distance from other values in their ranges; test
ZEROS = 1e-3  # of the observed values: more zeros, without negative values, are a bound; test
UNLIKE_SPREADS = 2000.0  # ratio of spreads above which units differ; tables of one unit have up to 1,000
FAR_LEVEL = 1e5  # level over spread above which float32 loses 1 % of the spread; test
NIGHT_HOURS = 4  # after eleven, the range of times to which clocks are set back; test
ORDER_LAGS = (1, 2, 3, 4, 7, 12, 24)  # columns: adjacent ones, and quarters, weekdays, months and hours
PERMUTATIONS, LEVEL = 199, 0.02  # level: share of unordered tables classified as ordered; test
SHORTEST_PERIOD, LONGEST_PERIOD = 4, 4096  # columns
REACH = 0.8  # largest lag, as a share of the columns; chosen
WHOLE_PERIODS = 2  # repetitions of a period that must be present; test
PEAK = 0.1  # least height of the autocorrelation at a period's multiples above its value between them; test
CHANCE = 4.0  # standard deviations of the height without a period; test
STEADY = 0.3  # least height of each of the first multiples, relative to the mean; test

# Limits of time and memory
SPECTRAL_VERTICES = 8_000  # LAPACK takes minutes for the whole basis of more, on two cores
KRIGING_VERTICES = 3000  # most of kriging
KRIGING_GRID_VERTICES = 600  # with more, kriging tries fewer covariances and all threads serve one matrix
MOST_VALUES = 20_000  # hidden values for coefficients of all vertices, and for scores of deviations
SAMPLE_NUMBERS = 1 << 21  # of a tensor's sample, or of many folds
BLOCK_NUMBERS = 1 << 19  # of a thread's block

# Launches of kernels; sums over blocks have the same blocks on both devices
THREADS = 256
BLOCKS = 264  # two per multiprocessor of a GPU with 132
