"""The method 'local': regression on the values around a gap and on similar series during the gap.

    x_vt = point_vt + beta' f_vt             point: linear interpolation; f: `describe_values`

beta minimizes absolute errors (reweighted squares) or squared errors on hidden values, for each kind of gap and vertex.
It is shrunk to the coefficients of the kind of gap, and these to those of all values. The vertices of a graph of
FEWEST_VERTICES or more share the coefficients of the kind, learned on patches of it (problem.Problem.patches):

    least sum of |y - beta' f|, or of squares, + pull' (beta - start)^2

Source: iteratively reweighted least squares, e.g. Green, J. R. Statist. Soc. B 46 (1984).
"""

from typing import NamedTuple

import numpy as np

from gpukit._pool import map_row_blocks, parallel_map, single_threaded_blas
from gpukit.imputation import scans
from gpukit.imputation.auto import masking
from gpukit.imputation.auto.judging import KINDS, NEVER, kinds, simple_estimate
from gpukit.imputation.constants import BLOCK_NUMBERS, ERROR_FLOOR, FEWEST_VERTICES, MOST_SERIES, MOST_VALUES
from gpukit.imputation.periods import row_means
from gpukit.imputation.problem import SEVERAL_IN_ORDER, Method, Units, in_units, several_in_order
from gpukit.imputation.simple import heaviest, limits_of

VALUES_PER_VERTEX = 1_000  # hidden values of one kind and vertex to learn from; chosen
WINDOW = 1 << 19  # numbers of a problem for learning
ALL = 2048  # largest number of vertices whose pairs are all compared
OWN = 6  # features of a vertex's own: two and three values before and after the gap, its ends, a constant


class MaskedProblem(NamedTuple):
    """A problem with some values hidden, in units of its vertices.

    hidden (N, T) bool; problem, its values float32; kinds (N, T) int8; series (N, T) float32: complete, with the
    current estimates; before, after (N, T): see columns_around.
    """

    hidden: np.ndarray
    problem: object
    kinds: np.ndarray
    series: np.ndarray
    before: np.ndarray
    after: np.ndarray


def settings(problem):
    """Return [{"neighbors"}]: the number of other series."""
    return [{"neighbors": MOST_SERIES}]


def fill(problem, setting):
    """Return (N, T) imputed values; NaN for unobserved vertices."""
    mean, scale = units(problem)
    inner = problem._replace(units=Units(mean[:, 0], scale[:, 0]))
    few = inner.window(WINDOW).patches(WINDOW)
    few = in_units(few, few.units)
    if 2 * inner.period > few.seen.shape[1]:
        inner, few = inner._replace(period=0), few._replace(period=0)
    folds = masking.folds_of(few, problem.options.seed + 1, folds_for(few.seen), anywhere=True)
    parts = parallel_map(lambda hidden: mask_problem(few, hidden), folds)
    whole = mask_problem(in_units(inner, inner.units), masking.hide_nothing(inner.seen))
    patches = [mask_problem(few, masking.hide_nothing(few.seen))] if len(few.seen) < len(mean) else []
    count = min(setting["neighbors"], len(mean) - 1)
    with single_threaded_blas():  # products of small matrices, a thread each
        for is_last in (False, True) if parts else ():  # the series of the first fit predict in the second one
            near = most_similar(whole, count)
            near_few = most_similar(patches[0], count) if patches else near
            coefficients = learn(parts, near_few, few.values)
            whole = predict(whole, near, coefficients)
            if not is_last:
                parts, patches = ([predict(p, near_few, coefficients) for p in group] for group in (parts, patches))
    series = whole.series
    del whole
    out = series * scale
    out += mean
    out[~problem.seen.any(axis=1)] = np.nan
    return out


def folds_for(seen):
    """Return the number of folds: enough hidden values per vertex within the memory."""
    enough, most = -(-VALUES_PER_VERTEX * 15 // seen.shape[1]), 8
    return max(masking.LEAST_FOLDS, min(most, most * WINDOW // seen.size, enough))


def units(problem):
    """Return (N, 1) means and scales of the vertices."""
    count = np.maximum(problem.seen.sum(axis=1, keepdims=True), 1)
    mean = row_means(problem.values, problem.seen)

    def sum_squares(rows):
        rest = np.where(problem.seen[rows], problem.values[rows] - mean[rows], 0.0)
        return np.square(rest).sum(axis=1, keepdims=True)

    squares = np.concatenate(map_row_blocks(sum_squares, problem.values.shape))
    usual = np.sqrt(squares.sum() / max(1, problem.seen.sum())) or 1.0
    return mean, np.maximum(np.sqrt(squares / count), 0.05 * usual)


def mask_problem(problem, hidden):
    """Return the MaskedProblem of a problem and masking.Hidden values, its series filled in by interpolation."""
    left = problem.without(hidden.lost) if hidden.lost.any() else problem
    series = simple_estimate(left, dtype=np.float32)
    values = left.values.astype(np.float32)
    np.copyto(series, values, where=left.seen)
    problem = left = left._replace(values=values)  # the float64 table is not needed any more
    return MaskedProblem(hidden.values, left, kinds(left), series, *columns_around(left.seen))


def columns_around(seen):
    """Return the nearest observed columns (N, T) before and after each one, -1 and T for none."""
    count = seen.shape[1]
    before, after = np.empty((2, *seen.shape), np.int16 if count < np.iinfo(np.int16).max else np.int32)

    def fill_rows(rows):
        before[rows, 0], after[rows, -1] = -1, count
        nearest = scans.nearest_observed(seen[rows])
        before[rows, 1:], after[rows, :-1] = nearest[0][:, :-1], nearest[1][:, 1:]

    map_row_blocks(fill_rows, seen.shape)
    return before, after


def with_periods(part, near):
    """Return (series, near) of a MaskedProblem: its series, then their values a period away, which each vertex uses."""
    series, period = part.series, part.problem.period
    if not period or 2 * period > series.shape[1]:
        return series, near
    return np.concatenate([series, period_away(series, period)]), np.column_stack(
        [near, len(near) + np.arange(len(near))]
    )


def describe_values(part, predictors, vertex, column):
    """Return (features (n, OWN + 4 K), base (n,)) float32 of values (vertex, column) of a MaskedProblem.

    The base is the point of linear interpolation. Features are relative to it: the observed values around the gap, and
    for each of the K predicting series the residual of interpolation between the same columns, the value, the one
    before and the one after. predictors: of `with_periods`.
    """
    problem, last, (series, near) = part.problem, part.series.shape[1] - 1, predictors
    others = near[vertex]
    left, right = part.before[vertex, column], part.after[vertex, column]
    left, right = np.where(left < 0, right, left), np.where(right > last, left, right)
    gap = problem.at[right] - problem.at[left]
    share = np.divide(problem.at[column] - problem.at[left], gap, out=np.zeros(len(gap)), where=gap > 0)
    share = share.astype(np.float32)
    low, high = (problem.values[vertex, end] for end in (left, right))
    base = low + share * (high - low)
    around = [left]
    for nearest, end, edge in ((part.before, left, -1), (part.after, right, last + 1)):
        for _ in range(2):
            farther = nearest[vertex, end]
            end = np.where(farther == edge, end, farther)
            around.append(end)
    x = np.empty((len(vertex), OWN + 4 * others.shape[1]), np.float32)
    x[:, : OWN - 1] = problem.values[vertex[:, None], np.column_stack(around)] - base[:, None]
    x[:, OWN - 1] = 1.0
    values, first, end = (series[others, place[:, None]] for place in (column, left, right))
    x[:, OWN::4] = values - (first + share[:, None] * (end - first))
    for number, place in enumerate((column, np.maximum(column - 1, 0), np.minimum(column + 1, last)), 1):
        x[:, OWN + number :: 4] = series[others, place[:, None]] - base[:, None]
    return x, base


def period_away(series, period):
    """Return (N, T): the mean of a series' values a period before and after, of one of them at the ends."""
    before, after = series[:, :-period], series[:, period:]
    out = np.empty_like(series)
    out[:, :period], out[:, -period:] = after[:, :period], before[:, -period:]
    out[:, period:-period] = 0.5 * (before[:, :-period] + after[:, period:])
    return out


def learn(parts, near, values):
    """Return (KINDS N, size) coefficients of each kind of gap and vertex, from the hidden values of MaskedProblems.

    From FEWEST_VERTICES on (KINDS, size), which all vertices share: the time is then independent of the vertices.

    values (N, T): the truth. The absolute error is minimized, by reweighting (ablated: with 5 not less), unless the
    metric is 'squared'.
    """
    options, count = parts[0].problem.options, len(near)
    rounds, rng = 3 if options.metric == "absolute" else 0, np.random.default_rng(options.seed)

    def examples(task):
        part, (vertex, column) = task
        x, base = describe_values(part, with_periods(part, near), vertex, column)
        return (
            x,
            (values[vertex, column] - base).astype(np.float32),
            part.kinds[vertex, column].astype(np.int64) * count + vertex,
        )

    chosen = [choose_values(part, rng, len(parts)) for part in parts]
    x, y, group = map(np.concatenate, zip(*parallel_map(examples, zip(parts, chosen))))
    if count >= FEWEST_VERTICES:
        group, count = group // count, 1
    return coefficients(x, y, group, count, rounds, rng)


def choose_values(part, rng, parts):
    """Return (vertex, column) of hidden values to learn from, a limited number per kind and vertex."""
    vertex, column = np.nonzero(part.hidden & (part.kinds != NEVER))
    group = part.kinds[vertex, column].astype(np.int64) * len(part.hidden) + vertex
    sample = sample_groups(group, max(1, VALUES_PER_VERTEX // parts), rng)
    return vertex[sample], column[sample]


def sample_groups(group, most, rng):
    """Return positions (n,) sorted by their group, at random `most` of each."""
    order = rng.permutation(len(group))
    order = order[np.argsort(group[order], kind="stable")]
    rank = np.arange(len(order)) - np.searchsorted(group[order], group[order])
    return order[rank < most]


def coefficients(x, y, group, count, rounds, rng):
    """Return (KINDS count, size): coefficients of all values, then of kinds, then of kinds and vertices if count > 1.

    x (n, size), y (n,), group (n,): the kind times `count`, plus the vertex. A ridge is in values of usual size, so
    that the coefficient of a feature that is nearly 0 in all values of a group stays at its start. vertex_pull: weight
    of the start of a vertex; ablated.
    """

    def fit(group, groups, start, pull, most):
        rows = sample_groups(group, most, rng)
        return regress(x[rows], y[rows], np.searchsorted(group[rows], np.arange(groups + 1)), start, pull, rounds)

    kind, sizes = group // count, np.square(x).sum(axis=0, dtype=np.float64) / max(1, len(x))
    vertex_ridge = 30.0  # weight of a vertex's start, in values; ablated
    kind_pull = 100.0 * sizes[None]  # weight of a kind's start: values of usual size
    common = fit(np.zeros(len(y), np.int64), 1, np.zeros((1, x.shape[1])), kind_pull, MOST_VALUES)
    of_kinds = [np.square(x[kind == value]).mean(axis=0) if (kind == value).any() else sizes for value in range(KINDS)]
    start = fit(kind, KINDS, np.repeat(common, KINDS, 0), np.repeat(kind_pull, KINDS, 0), MOST_VALUES)
    if count == 1:
        return start
    start, pull = (np.repeat(value, count, axis=0) for value in (start, vertex_ridge * np.array(of_kinds)))
    return fit(group, len(start), start, pull, VALUES_PER_VERTEX)


def regress(x, y, first, start, pull, rounds):
    """Return (G, size) coefficients of groups, shrunk to a start by a ridge; the start of groups without values.

    x (n, size), y (n,): values sorted by group; first (G + 1,): the start of each group, and n; start, pull (G, size);
    rounds: of reweighting for absolute errors, 0 for squares.
    """
    sizes, out = np.diff(first), np.array(start)
    order = np.argsort(sizes, kind="stable")[np.count_nonzero(sizes == 0) :]
    at_once = np.maximum(1, BLOCK_NUMBERS // (sizes[order] * x.shape[1]))

    def solve(chunk):
        rows = np.arange(sizes[chunk].max())
        inside = rows < sizes[chunk][:, None]
        rows = np.where(inside, first[chunk][:, None] + rows, 0)
        X, Y, beta, D = x[rows], y[rows][:, :, None], start[chunk][:, :, None], pull[chunk][:, :, None]
        origin = D * beta
        for _ in range(max(rounds, 1)):
            W = weights_of((Y - X @ beta.astype(np.float32))[:, :, 0], inside) if rounds else inside
            weighted = (X * W[:, :, None].astype(np.float32)).transpose(0, 2, 1)
            G = (weighted @ X).astype(np.float64)
            G[:, range(G.shape[1]), range(G.shape[1])] += D[:, :, 0] + 1e-12
            beta = np.linalg.solve(G, weighted @ Y + origin)
        out[chunk] = beta[:, :, 0]

    chunks, low = [], 0
    while low < len(order):  # groups of similar sizes
        end = low + int(at_once[min(low + at_once[low], len(order)) - 1])
        chunks.append(order[low:end])
        low = end
    parallel_map(solve, chunks)
    return out


def weights_of(residuals, inside):
    """Return weights (groups, n) for which squares are absolute values, with mean 1 where `inside`, else 0."""
    size, count = np.abs(residuals) * inside, inside.sum(axis=1, keepdims=True)
    weights = inside / np.maximum(size, ERROR_FLOOR * size.sum(axis=1, keepdims=True) / count + 1e-30)
    return weights * (count / weights.sum(axis=1, keepdims=True))


def predict(part, near, beta):
    """Return a MaskedProblem with its missing values predicted by coefficients (KINDS N, size) or (KINDS, size).

    Predictions beyond the limits of a vertex come from coefficients of few values; interpolation replaces them.
    """
    low, high = limits_of(part.problem.values, part.problem.seen)
    series, predictors, each = part.series.copy(), with_periods(part, near), max(1, BLOCK_NUMBERS // beta.shape[1])
    each_kind = len(beta) // KINDS  # N, or 1

    def predict_rows(rows):
        vertex, column = np.nonzero(~part.problem.seen[rows] & (part.kinds[rows] != NEVER))
        vertex += rows.start
        for first in range(0, len(vertex), each):
            v, t = (value[first : first + each] for value in (vertex, column))
            x, base = describe_values(part, predictors, v, t)
            laws = beta[part.kinds[v, t].astype(np.int64) * each_kind + v % each_kind]
            values = base + np.einsum("ij,ij->i", x, laws)
            series[v, t] = np.where((values >= low[v]) & (values <= high[v]), values, base)

    map_row_blocks(predict_rows, series.shape)
    return part._replace(series=series)


def most_similar(whole, count):
    """Return (N, count): for each vertex the others with the highest correlation, in descending order.

    Vertices without observations come last. With many vertices only graph neighbours are compared, and
    the vertex itself, whose features are 0, fills up lists with too few.
    """
    series, alive = np.empty_like(whole.series), whole.problem.seen.any(axis=1)

    def centre(rows):
        np.subtract(whole.series[rows], whole.series[rows].mean(axis=1, keepdims=True), out=series[rows])
        size = np.linalg.norm(series[rows], axis=1, keepdims=True)
        series[rows] /= np.where(size > 0, size, 1)

    map_row_blocks(centre, series.shape)
    if len(series) <= ALL:
        correlation = series @ series.T
        correlation[:, ~alive] = -2.0
        np.fill_diagonal(correlation, -3.0)
        return np.argsort(-correlation, axis=1, kind="stable")[:, :count]
    near = heaviest(whole.problem.adjacency, 32)
    out = np.repeat(np.arange(len(series), dtype=near.indices.dtype)[:, None], count, axis=1)

    def sort_rows(rows):
        part = near[rows]
        row, column = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr)), part.indices
        pairs = np.einsum("ij,ij->i", series[rows][row], series[column])
        order = np.lexsort((-np.where(alive[column], pairs, -2.0), row))
        rank = np.arange(len(order)) - part.indptr[row]
        out[row[rank < count] + rows.start, rank[rank < count]] = column[order][rank < count]

    map_row_blocks(sort_rows, (len(series), series.shape[1] * max(1, near.nnz // len(series))))
    return out


METHOD = Method("local", several_in_order, settings, fill, ordered=True, host=True, needs=SEVERAL_IN_ORDER)
