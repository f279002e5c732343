"""Standard deviations of imputed values, learned from hidden values.

    deviation = scale of the kind * exp(strength * beta' (f - mean of f) / spread of f)

f holds logarithms of features of the filled table, the graph and the mask (`compute_features`). beta is fitted by least
squares to log |error|, separately for vertices hidden whole, for values beyond the ends of their series, and for all
others. The strength of each group is the one with the lowest interval score on folds left out of the fit. Values beyond
an end are a kind of their own: no later value bounds the error. Their deviation grows with the distance like the change
of a random walk with the changes of the series (`changes_beyond`), to a power selected in the same way. They are
learned at more origins than methods are judged at, and as far from the last observation as values are missing
(masking.origins_of).

The scale of a kind is chosen so that the central 90 % interval of a normal distribution contains 90 % of its errors on
folds left out of the fit. With few vertices hidden whole, or few independent errors beyond an end, the share is raised
to cover one more of them (Vovk et al., Algorithmic Learning in a Random World, 2005). Errors beyond an end depend on
each other, along a run and between series that end together. So few of them are independent (`count_independent`), and
their scale is widened to Student's interval. No deviation is 0: equal hidden values do not prove that the next one is
equal too.
"""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from gpukit._pool import map_row_blocks
from gpukit.imputation import kriging as cov
from gpukit.imputation import scans
from gpukit.imputation.auto.judging import KINDS
from gpukit.imputation.constants import COVERED, ENOUGH_VALUES, ERROR_FLOOR, KRIGING_VERTICES, MOST_VALUES, ROUNDING
from gpukit.imputation.problem import lonely
from gpukit.imputation.simple import heaviest

FEATURES = 9


class Features(NamedTuple):
    """Features of values before their logarithms are taken; float32, because every missing value has them.

    sizes (FEATURES, values) float32: of the features, the last one the rank. usual (FEATURES - 1,): their means.
    """

    sizes: np.ndarray
    usual: np.ndarray

    @property
    def shape(self):
        """Shape of the features: (values, FEATURES)."""
        return self.sizes.shape[::-1]

    def __getitem__(self, rows):
        """Return (n, FEATURES) float64 of some values: logarithms of the sizes, with a floor, then the rank."""
        out = np.array(self.sizes[:, rows].T, np.float64, order="C")
        for number, usual in enumerate(self.usual):
            out[:, number] = np.log(out[:, number] + 0.02 * usual) if usual > 0 else 0.0
        return out


def compute_features(problem, field, estimates, where):
    """Return (values, FEATURES) float64 of the entries where a mask (N, T) is True; see measure_features."""
    features = measure_features(problem, field, estimates, where)
    blocks = map_row_blocks(features.__getitem__, features.shape)
    return np.concatenate(blocks) if blocks else np.empty(features.shape)


def measure_features(problem, field, estimates, where):
    """Return Features of the entries where a mask (N, T) is True.

    field (N, T): observed values, and estimates of the others. estimates: [(values,)] of the methods in the mean. The
    features are logarithms, except the last one:

    - disagreement of the neighbours in the column;
    - disagreement of the estimates;
    - distance from the mean of the column;
    - change of the series at the entry;
    - residual of the neighbours' values against linear interpolation near the gap;
    - residual of the neighbours' values against their own neighbours;
    - roughness of the vertex, or of its neighbours if it is not observed;
    - kriging variance of the vertex;
    - rank of the value among all, from -1 to 1.
    """
    measure = Measure(problem, field, where)
    movement = measure.put_changes()
    measure.put_curvatures()
    if len(estimates) > 1:
        measure.sizes[1] = np.std(estimates, axis=0)
    for number, feature in ((6, roughness(problem, movement, measure.W)), (7, kriging_variance(problem))):
        measure.sizes[number] = np.repeat(feature, measure.counts)
    measure.sizes[8] = ranks(field[where])
    usual = [float(size.mean(dtype=np.float64)) if len(size) else 0.0 for size in measure.sizes[:-1]]
    return Features(measure.sizes, np.array(usual))


class Measure:
    """Features of the entries of a mask `where` (N, T), by blocks of rows; see measure_features.

    W: neighbour_weights. counts (N,): entries of each row. size: scale of the field.
    """

    def __init__(self, problem, field, where):
        self.problem, self.field, self.where = problem, field, where
        self.W, self.mean = neighbour_weights(problem.adjacency), field.mean(axis=0)
        self.counts = np.count_nonzero(where, axis=1)
        self.ends = np.r_[0, np.cumsum(self.counts)]
        self.sizes = np.empty((FEATURES, self.ends[-1]), np.float32)
        sizes = map_row_blocks(lambda rows: np.abs(field[rows] - self.mean).max(initial=0.0), field.shape)
        self.size = max(sizes, default=0.0) or 1.0

    def put(self, rows, parts):
        """Store parts {number of a feature: (n, T)} of a block of rows."""
        mask, place = self.where[rows], slice(self.ends[rows.start], self.ends[rows.stop])
        for number, part in parts.items():
            self.sizes[number, place] = part[mask]

    def put_departures(self, number, departures):
        """Store the mean of the neighbours' Departures as a feature."""
        departures.normalize()

        def fill_rows(rows):
            self.put(rows, {number: departures.mean_near(*near_rows(self.W, rows))})

        map_row_blocks(fill_rows, self.field.shape)

    def put_changes(self):
        """Store the features 0 to 3 and 5. Return (N,): sums of |change| over the observed columns of a row."""
        problem, field, mean, movement = self.problem, self.field, self.mean, np.empty(len(self.field))
        departures = Departures(problem)

        def fill_rows(rows):
            block, seen, (weights, near) = field[rows], problem.seen[rows], near_rows(self.W, rows)
            values = field[near]
            neighbours = weights @ values
            variance = weights @ np.square(values - mean) - np.square(neighbours - mean)
            difference = block - neighbours
            moves = np.abs(np.gradient(block, axis=1)) if block.shape[1] > 1 else np.zeros(block.shape)
            movement[rows] = np.where(seen, moves, 0.0).sum(axis=1)
            parts = np.sqrt(np.maximum(variance, 0.0)), np.abs(difference), np.abs(block - mean), smooth(moves)
            self.put(rows, dict(enumerate(parts)))
            departures.put(rows, without_mean(difference / self.size, seen), seen)

        map_row_blocks(fill_rows, field.shape)
        self.put_departures(5, departures)
        return movement

    def put_curvatures(self):
        """Store feature 4."""
        departures = Departures(self.problem)

        def fill_rows(rows):
            block, seen = self.field[rows] / self.size, self.problem.seen[rows]
            curvature, is_inner = np.zeros(block.shape), np.zeros(seen.shape, bool)
            curvature[:, 1:-1] = block[:, 1:-1] - 0.5 * (block[:, :-2] + block[:, 2:])
            is_inner[:, 1:-1] = seen[:, 1:-1] & seen[:, :-2] & seen[:, 2:]
            departures.put(rows, curvature, is_inner)

        map_row_blocks(fill_rows, self.field.shape)
        self.put_departures(4, departures)


def near_rows(W, rows):
    """Return (csr (n, M), (M,) its columns): the rows of W without empty columns."""
    from scipy import sparse

    part = W[rows]
    is_near, position = np.zeros(W.shape[1], bool), np.empty(W.shape[1], part.indices.dtype)
    is_near[part.indices] = True
    near = np.flatnonzero(is_near)
    position[near] = np.arange(len(near))
    return sparse.csr_matrix((part.data, position[part.indices], part.indptr), (part.shape[0], len(near))), near


class Departures:
    """Departures of the observed values of a Problem, smoothed over ordered columns; in units of their mean.

    Feature 4: from linear interpolation between the adjacent columns; feature 5: from the neighbours' mean, less the
    mean difference of the vertex. sums (N, T) float32: of departures; counts (N, T) int8: their number, times `each`.
    """

    def __init__(self, problem):
        self.average, self.each = (smooth, 5) if problem.ordered else (np.asarray, 1)
        self.sums, self.counts = np.empty(problem.seen.shape, np.float32), np.empty(problem.seen.shape, np.int8)

    def put(self, rows, departures, is_known):
        """Store the departures (n, T) of a block of rows; is_known (n, T) bool."""
        self.sums[rows] = self.average(np.where(is_known, np.abs(departures), 0.0).astype(np.float32))
        self.counts[rows] = np.rint(self.each * self.average(is_known.astype(np.float32)))

    def normalize(self):
        """Divide the departures by their mean."""
        count = self.counts.sum(dtype=np.int64) / self.each
        self.sums /= self.sums.sum(dtype=np.float64) / max(1.0, count) or 1.0

    def mean_near(self, weights, near):
        """Return (n, T) float32: weighted means of the departures of near rows (M,), with weights csr (n, M)."""
        prior, narrow = np.float32(0.15), weights.astype(np.float32)  # columns of average departure in each mean
        counts = self.counts[near].astype(np.float32) / np.float32(self.each)
        return (narrow @ self.sums[near] + prior) / (narrow @ counts + prior)


def without_mean(difference, seen):
    """Return differences (n, T) less the mean of each row's observed ones."""
    usual = np.where(seen, difference, 0.0).sum(axis=1, keepdims=True) / np.maximum(seen.sum(axis=1, keepdims=True), 1)
    return difference - usual


def ranks(values):
    """Return ranks of values, from -1 to 1."""
    order = np.empty(len(values), np.int64)
    order[np.argsort(values, kind="stable")] = np.arange(len(values))
    return 2.0 * (order + 0.5) / max(1, len(values)) - 1.0


def neighbour_weights(adjacency):
    """Return csr (N, N): weights of a vertex's ten nearest neighbours, normalized to 1."""
    from scipy import sparse

    W = heaviest(adjacency, 10)
    total = np.asarray(W.sum(axis=1)).ravel()
    return sparse.diags(1.0 / np.where(total > 0, total, 1.0)) @ W


def smooth(moves):
    """Return the moving mean of five columns; the end values repeat beyond the ends."""
    padded, count = np.pad(moves, ((0, 0), (2, 2)), mode="edge"), moves.shape[1]
    return sum(padded[:, first : first + count] for first in range(5)) / moves.dtype.type(5)


def roughness(problem, movement, W):
    """Return (N,): mean movement of a vertex where it is observed, else its neighbours' mean.

    movement (N,): sums over the observed columns.
    """
    count = problem.seen.sum(axis=1)
    mean_movement = movement / np.maximum(count, 1)
    is_observed = (count > 0).astype(np.float64)
    weight = W @ is_observed
    neighbours = np.where(
        weight > 0,
        (W @ (mean_movement * is_observed)) / np.where(weight > 0, weight, 1.0),
        mean_movement[count > 0].mean(),
    )
    return np.where(count > 0, mean_movement, neighbours)


def kriging_variance(problem):
    """Return (N,): kriging variance of unobserved vertices; 1 for observed or isolated ones."""
    is_observed, out = problem.seen.any(axis=1), np.ones(len(problem.seen))
    if is_observed.all() or len(is_observed) > KRIGING_VERTICES:
        return out
    rho, nu, tau = 3.0, 2.0, 0.03  # usual ones; chosen
    K, seen = cov.covariance(problem.place.basis.laplacian, rho, nu), np.flatnonzero(is_observed)
    predicted = ~is_observed & ~lonely(problem)
    out[predicted] = cov.variance(K, cov.solve_system(K, seen, tau), seen, tau)[predicted]
    return out


def changes_beyond(problem, where):
    """Return the usual change of the entries of a mask (N, T), as (values,).

    0 for entries that are not beyond an end. For others it is the mean |change| of the row between columns, times the
    root of the distance to an observation. A row without changes has the median of the others beyond an end.
    """
    ends = np.r_[0, np.cumsum(np.count_nonzero(where, axis=1))]
    changes, has_ends, out = np.zeros(len(where)), np.zeros(len(where), bool), np.zeros(ends[-1])
    if not problem.ordered:
        return out

    def fill_changes(rows):
        has_ends[rows] = (where[rows] & scans.beyond_ends(problem.seen[rows])).any(axis=1)
        changes[rows] = mean_change(problem.values[rows], problem.seen[rows])

    def fill_rows(rows):
        mask, seen = where[rows], problem.seen[rows]
        change = changes[rows, None] * np.sqrt(np.maximum(scans.distances(seen), 1))
        out[ends[rows.start] : ends[rows.stop]] = np.where(scans.beyond_ends(seen), change, 0.0)[mask]

    map_row_blocks(fill_changes, where.shape)
    if has_ends.any():
        positive = changes[has_ends & (changes > 0)]
        changes[changes <= 0] = float(np.median(positive)) if len(positive) else 1.0
        map_row_blocks(fill_rows, where.shape)
    return out


def mean_change(values, seen):
    """Return (n,): the mean |change| of each row between adjacent observed columns; 0 without any."""
    both = seen[:, 1:] & seen[:, :-1]
    total = np.where(both, np.abs(np.diff(values, axis=1)), 0.0).sum(axis=1)
    return total / np.maximum(np.count_nonzero(both, axis=1), 1)


STRENGTHS = (1.0, 0.5, 0.0)  # of the features, and powers of the growth beyond ends; ablated
BEYOND = KINDS  # the kind of values before the first and after the last of their series
GROUPS = np.r_[0, np.full(KINDS - 1, 1), 2]  # by kind, a law each: vertices hidden whole, inner values, ends
WIDE, HALF = map(NormalDist().inv_cdf, (0.95, 0.75))  # half widths of the central 90 % and 50 % normal intervals


class Deviations(NamedTuple):
    """Standard deviations of imputed values.

    by_kind (KINDS + 1,) float64. law (3, 3, FEATURES) float64: mean and spread of f, and beta, of each group.
    coverage {0.5: share, 0.9: share} of hidden values within their intervals. growth (2,) float64: usual change
    beyond ends, and the power of it; zeros if values beyond ends are like others.
    """

    by_kind: np.ndarray
    law: np.ndarray
    coverage: dict
    growth: np.ndarray

    def at(self, kinds, features, changes=None):
        """Return deviations of values with kinds (values,) and features (values, FEATURES).

        changes (values,): usual change of values beyond an end, else 0.
        """
        if changes is None or self.growth[0] == 0:
            return self.by_kind[kinds] * np.exp(exponents(self.law, kinds, features))
        kinds = np.where(changes > 0, BEYOND, kinds)
        return self.by_kind[kinds] * np.exp(exponents(self.law, kinds, features)) * growth_factors(changes, self.growth)


class Errors(NamedTuple):
    """Hidden values: residuals, kinds, features (values, FEATURES), and where they are, (values,).

    runs: numbers of their runs. entries: of the table. series: rows of the table. times: numbers of their columns,
    distinct in all folds.
    """

    residuals: np.ndarray
    kinds: np.ndarray
    features: np.ndarray
    runs: np.ndarray
    entries: np.ndarray
    series: np.ndarray
    times: np.ndarray

    def select(self, index):
        return Errors(*(part[index] for part in self))

    def relative(self, changes, growth):
        """Return Errors in which values beyond an end have their own kind and residuals relative to growth."""
        kinds = np.where(changes > 0, BEYOND, self.kinds)
        return self._replace(residuals=self.residuals / growth_factors(changes, growth), kinds=kinds)


def concatenate(parts):
    return Errors(*map(np.concatenate, zip(*parts)))


def constant(deviation):
    """Return Deviations with one value everywhere."""
    return Deviations(np.full(KINDS + 1, deviation), neutral_law(), {}, np.zeros(2))


def growth_factors(changes, growth):
    """Return factors of deviations for changes (values,) beyond an end; 1 where a change is 0."""
    usual, power = growth
    return np.where(changes > 0, changes / usual, 1.0) ** power


def least_of(values, count):
    """Return the floor of all scales: the values' spread, or size, over the square of 1 + count."""
    largest = float(np.abs(values).max()) or 1.0
    values = values / largest  # whose squares may be summed
    size, usual = float(np.abs(values).mean()) * largest, float(values.std()) * largest
    usual = usual if usual > ROUNDING * size else size or 1.0
    return usual / (1 + count) ** 2


def neutral_law():
    """Return a law that ignores the features."""
    law = np.zeros((3, 3, FEATURES))
    law[:, 1] = 1.0
    return law


def learn_with_growth(parts, changes, units=np.inf, least=0.0):
    """Return Deviations from [Errors] and [changes (values,)], one per fold.

    changes: usual change beyond an end (changes_beyond). Other arguments as in learn.
    """
    positive = np.concatenate(changes)
    count, positive = len(positive), positive[positive > 0]
    if len(positive) < min(ENOUGH_VALUES, max(1, count // 2)):
        return learn(parts, units, least)
    candidates, usual = [], np.exp(np.log(positive).mean())
    for power in STRENGTHS if sum(bool((value > 0).any()) for value in changes) > 1 else STRENGTHS[:1]:
        growth = np.array([usual, power])
        relative = [part.relative(value, growth) for part, value in zip(parts, changes)]
        candidates.append((interval_score_beyond(relative, changes, growth), growth, relative))
    _, growth, relative = min(candidates, key=lambda value: value[0])
    return learn(relative, units, least)._replace(growth=growth)


def interval_score_beyond(parts, changes, growth):
    """Return the left-out interval score beyond ends; 0 for a single fold."""
    step = max(1, sum(len(part.residuals) for part in parts) // MOST_VALUES)
    sample = [part.select(slice(None, None, step)) for part in parts]
    beyond = [part.select(part.kinds == BEYOND) for part in sample]
    if sum(bool(len(part.residuals)) for part in beyond) < 2:
        return 0.0
    factors = growth_factors(np.concatenate([value[::step] for value in changes]), growth)[
        concatenate(sample).kinds == BEYOND
    ]
    beyond = [part for part in beyond if len(part.residuals)]
    sizes = predict_left_out(beyond, select_strengths(beyond))
    return interval_score(factors * concatenate(beyond).residuals, factors * sizes)


def learn(parts, units=np.inf, least=0.0):
    """Return Deviations from [Errors], one per fold.

    units: number of vertices hidden whole. least: floor of all scales.
    """
    errors, step = concatenate(parts), max(1, sum(len(part.residuals) for part in parts) // MOST_VALUES)
    sample = [part.select(slice(None, None, step)) for part in parts]
    if len(sample) < 2:
        model, scored, sizes = fit(errors, STRENGTHS[:1] * 3), errors, None
    else:
        scored, strengths = concatenate(sample), select_strengths(sample)
        model, sizes = fit(errors, strengths), predict_left_out(sample, strengths)
    sizes = model.at(scored.kinds, scored.features) if sizes is None else sizes
    ends = count_independent(scored, sizes)
    targets = share_with_one_more(units), COVERED, share_with_one_more(ends)
    factors = np.array(
        [widening_factor(scored, sizes, GROUPS[scored.kinds] == group, value) for group, value in enumerate(targets)]
    )
    if ends:
        factors[GROUPS[BEYOND]] *= student_factor(ends, targets[GROUPS[BEYOND]])
    by_kind, sizes = model.by_kind * factors[GROUPS], np.maximum(sizes * factors[GROUPS[scored.kinds]], least)
    shares = {share: float((np.abs(scored.residuals) <= z * sizes).mean()) for share, z in ((0.5, HALF), (0.9, WIDE))}
    return Deviations(np.maximum(by_kind, least), model.law, shares, np.zeros(2))


def share_with_one_more(count):
    """Return the share of `count` units to cover, so that one more is covered with probability COVERED."""
    most = 0.95  # with few units; ablated
    return min(most, COVERED * (1.0 + 1.0 / max(count, 1)))


def student_factor(count, share):
    """Return the width of Student's 90 % interval over the normal one, for a scale learned from `count` errors.

    The scale is the quantile of n independent errors at a share p. Its variance is that of the root mean square of
    x^2 f(x)^2 n / (2 p (1 - p)) errors; x is the quantile and f the density of |z| for normal z.
    """
    from scipy.special import ndtri, stdtrit

    x = ndtri((1 + share) / 2)
    slope = x * np.sqrt(2 / np.pi) * np.exp(-(x**2) / 2)
    freedom = slope**2 / (2 * share * (1 - share)) * count
    return float(stdtrit(max(1.0, freedom), (1 + COVERED) / 2)) / WIDE


def count_independent(errors, sizes):
    """Return the number of independent errors among those beyond ends; 0 if there are none.

    n / (1 + 2 sum over the lags j within a run of r_j^2) / (1 + k r^2), because r^2 is the correlation of the squares
    of normal values with correlation r. n: number of entries, each counted once, however many folds hide it. k: mean
    number of other series that a fold hides at the time of an error. r^2: see correlation_of_series.
    """
    is_beyond = errors.kinds == BEYOND
    if not is_beyond.any():
        return 0.0
    beyond = errors.select(is_beyond)
    ratios = beyond.residuals / np.maximum(sizes[is_beyond], 1e-300)
    count = len(np.unique(beyond.entries)) / (1 + correlation_in_runs(ratios, beyond.runs))
    together = np.unique(beyond.times, return_counts=True)[1]
    others = np.square(together).sum() / together.sum() - 1
    return float(count / (1 + others * correlation_of_series(beyond, ratios, count)))


def correlation_in_runs(ratios, runs):
    """Return twice the sum of the squared correlations of ratios (values,) at all lags within runs (values,)."""
    products, pairs = np.zeros((2, len(runs)))
    for run in np.split(ratios, np.flatnonzero(np.diff(runs)) + 1):
        spectrum = np.fft.rfft(run, 2 * len(run))  # twice the length, so that no product wraps around
        products[: len(run)] += np.fft.irfft(np.square(np.abs(spectrum)), 2 * len(run))[: len(run)]
        pairs[: len(run)] += np.arange(len(run), 0, -1)
    products, pairs = products[pairs > 0], pairs[pairs > 0]
    r = products / pairs / max(products[0] / pairs[0], 1e-300)
    return 2 * (np.square(r[1:]) * pairs[1:]).sum() / pairs[0]


def correlation_of_series(errors, ratios, count):
    """Return the mean squared correlation of the errors of two series at the same times, 0 to 1.

    ratios (values,): errors over their deviations. count: number of independent errors if series are independent. The
    square of m independent pairs has the mean 1 / m without any correlation. This is subtracted, so that few pairs
    prove little.
    """
    most = 100  # series; their pairs are enough of a sample
    series, row = np.unique(errors.series, return_inverse=True)
    sampled = np.unique(np.linspace(0, len(series) - 1, most).astype(np.int64))
    mask = np.isin(row, sampled)
    row, times = np.searchsorted(sampled, row[mask]), np.unique(errors.times[mask], return_inverse=True)[1]
    table, present = np.zeros((2, len(sampled), times.max() + 1))
    table[row, times], present[row, times] = ratios[mask] / max(np.abs(ratios).max(), 1e-300), 1.0
    pairs, power = present @ present.T, np.square(table) @ present.T
    np.fill_diagonal(pairs, 0.0)
    squares = np.square(table @ table.T) / np.maximum(power * power.T, 1e-300)
    independent = np.maximum(pairs * count / len(ratios), 1.0)
    return max(0.0, float((pairs * (squares - 1 / independent)).sum() / max(pairs.sum(), 1.0)))


def fit(errors, strengths):
    """Fit Deviations without coverage to Errors; strengths of the law, one per group."""
    law = neutral_law()
    for group, strength in enumerate(strengths):
        mask = GROUPS[errors.kinds] == group
        if np.count_nonzero(mask) >= ENOUGH_VALUES:
            law[group] = fit_law(np.abs(errors.residuals[mask]), errors.features[mask])
            law[group, 2] *= strength
    scaled = np.exp(-exponents(law, errors.kinds, errors.features)) * errors.residuals
    return Deviations(scales(scaled, errors.kinds), law, {}, np.zeros(2))


def predict_left_out(parts, strengths):
    """Return (values,) deviations of each fold, learned on the other folds."""
    others = [concatenate(parts[:index] + parts[index + 1 :]) for index in range(len(parts))]
    return np.concatenate([fit(rest, strengths).at(part.kinds, part.features) for rest, part in zip(others, parts)])


def select_strengths(parts):
    """Return the strengths with the least left-out interval score."""
    errors, best = concatenate(parts), []
    predictions = [predict_left_out(parts, (strength,) * 3) for strength in STRENGTHS]
    for group in (GROUPS[errors.kinds] == number for number in range(3)):
        scores = [interval_score(errors.residuals[group], sizes[group]) for sizes in predictions]
        best.append(STRENGTHS[int(np.argmin(scores))] if group.any() else 1.0)
    return tuple(best)


def interval_score(residuals, deviations):
    """Return the mean interval score at 90 % (Gneiting and Raftery, JASA 102, 2007)."""
    half = WIDE * deviations
    return float((half + 10.0 * np.maximum(np.abs(residuals) - half, 0.0)).mean()) if len(residuals) else 0.0


def widening_factor(errors, sizes, mask, share):
    """Return the factor of deviations (values,) for which intervals hold a share."""
    if np.count_nonzero(mask) < ENOUGH_VALUES and not (errors.kinds[mask] == BEYOND).any():
        return 1.0
    ratios = np.abs(errors.residuals[mask]) / np.maximum(sizes[mask], 1e-300)
    return float(np.quantile(ratios, share) / WIDE)


def fit_law(sizes, features):
    """Return (3, FEATURES): mean and spread of features, and beta."""
    mean, spread = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-9)
    X = (features - mean) / spread
    y = np.log(sizes + ERROR_FLOOR * sizes.mean() + 1e-300)
    G = X.T @ X + 0.02 * len(y) * np.eye(FEATURES)  # a small ridge
    return np.array([mean, spread, np.linalg.solve(G, X.T @ (y - y.mean()))])


def exponents(law, kinds, features):
    """Return beta' (f - mean) / spread of values, clipped."""
    most = 2.0  # exponent, and spreads of a feature from its mean: no extrapolation; ablated

    def block_exponents(rows):
        mean, spread, beta = np.moveaxis(law[GROUPS[kinds[rows]]], 1, 0)
        offsets = np.clip((features[rows] - mean) / spread, -most, most)
        return np.clip(np.einsum("ij,ij->i", offsets, beta), -most, most)

    return np.concatenate(map_row_blocks(block_exponents, features.shape)) if len(features) else np.zeros(0)


def scales(residuals, kinds):
    """Return (KINDS + 1,) scales of residuals.

    A kind with few residuals takes the scale of its group, or of all. Values beyond an end always have their own.
    """
    by_kind = np.full(KINDS + 1, scale(residuals))
    for group in (0, 1):
        mask = GROUPS[kinds] == group
        if np.count_nonzero(mask) >= ENOUGH_VALUES:
            by_kind[GROUPS == group] = scale(residuals[mask])
    for kind in range(KINDS + 1):
        count = np.count_nonzero(kinds == kind)
        if count >= ENOUGH_VALUES or (kind == BEYOND and count):
            by_kind[kind] = scale(residuals[kinds == kind])
    return by_kind


def scale(residuals):
    """Return the deviation whose central 90 % interval holds 90 % of the residuals.

    At least a share of their mean, for residuals that are mostly 0.
    """
    sizes = np.abs(residuals)
    return max(float(np.quantile(sizes, 0.9)) / WIDE, ERROR_FLOOR * float(sizes.mean()))
