"""The method 'local': hidden values, coefficients, imputed values, and the most similar series."""

import functools
from typing import NamedTuple

import numpy as np

from gpukit._pool import by_rows, shared_out
from gpukit.device.engine import engine
from gpukit.imputation import scans
from gpukit.imputation.auto import judging as places
from gpukit.imputation.auto import masking as hiding
from gpukit.imputation.auto.judging import KINDS, simple
from gpukit.imputation.constants import (
    BLOCK_NUMBERS,
    LEARNING_FOLDS,
    LEAST_FOLDS,
    MOST_SERIES,
    PASSES,
    RANGE_MARGIN,
    SCALE_FLOOR,
    VALUES_PER_VERTEX,
)
from gpukit.imputation.local.regression import HiddenValues, Table, grouped
from gpukit.imputation.problem import Method
from gpukit.imputation.simple import heaviest

WINDOW = 1 << 19  # numbers of a problem for learning


class Predictors(NamedTuple):
    """Data of the features.

    values (N, T) float32, 0 where missing; before, after (N, T) int32 (kernels.describe); at (T,) float32; series
    (M, T) float32; near (N, k) int32.
    """

    values: np.ndarray
    before: np.ndarray
    after: np.ndarray
    at: np.ndarray
    series: np.ndarray
    near: np.ndarray


class MaskedProblem(NamedTuple):
    """A problem with some values hidden, in units of its vertices.

    hidden (N, T) bool; problem; kinds (N, T) int8; series (N, T) float32: complete, with the current estimates; before,
    after (N, T) int32 (Predictors).
    """

    hidden: np.ndarray
    problem: object
    kinds: np.ndarray
    series: np.ndarray
    before: np.ndarray
    after: np.ndarray


class Missing(NamedTuple):
    """Missing values to fill in: vertex, column, group (n,) int32.

    group: the value's kind times the number of vertices, plus its vertex; limits (N, 2): of each vertex's predictions.
    """

    vertex: np.ndarray
    column: np.ndarray
    group: np.ndarray
    limits: np.ndarray


def suits(problem):
    """Return True for series in time of two vertices at least."""
    return problem.ordered and len(problem.values) > 1


def fill(problem, setting):
    """Return (N, T) imputed values; NaN for unobserved vertices."""
    mean, scale = units(problem)
    inner = problem._replace(values=np.where(problem.seen, (problem.values - mean) / scale, 0.0))
    few = inner.window(WINDOW)
    if 2 * inner.period > few.seen.shape[1]:
        inner, few = inner._replace(period=0), few._replace(period=0)
    folds = hiding.folds_of(few, problem.options.seed + 1, folds_for(few.seen), anywhere=True)
    parts = shared_out(lambda hidden: part_of(few, hidden), folds)
    whole = part_of(inner, hiding.nothing(inner.seen))  # parallel by rows
    steps = engine(problem.place.device, "gpukit.imputation.local")
    for number in range(PASSES if parts else 0):
        near = near_of(whole, setting["neighbors"])
        all_predictors = shared_out(functools.partial(predictors_of, near=near), parts)
        coefficients = learn(steps, parts, all_predictors, whole)
        if number + 1 < PASSES:
            parts = predict_all(steps, parts, all_predictors, coefficients)
        [whole] = predict_all(steps, [whole], [predictors_of(whole, near)], coefficients)
    out = whole.series * scale + mean
    out[~problem.seen.any(axis=1)] = np.nan
    return out


def folds_for(seen):
    """Return the number of folds: enough hidden values per vertex within the memory."""
    enough = -(-VALUES_PER_VERTEX * 15 // seen.shape[1])
    return max(LEAST_FOLDS, min(LEARNING_FOLDS, LEARNING_FOLDS * WINDOW // seen.size, enough))


def units(problem):
    """Return (N, 1) means and scales of the vertices."""
    count = np.maximum(problem.seen.sum(axis=1, keepdims=True), 1)
    mean = problem.values.sum(axis=1, keepdims=True) / count
    rest = np.where(problem.seen, problem.values - mean, 0.0)
    usual = np.sqrt(np.square(rest).sum() / max(1, problem.seen.sum())) or 1.0
    return mean, np.maximum(np.sqrt(np.square(rest).sum(axis=1, keepdims=True) / count), SCALE_FLOOR * usual)


def settings(problem):
    """Return [{"neighbors"}]: the number of other series."""
    return [{"neighbors": MOST_SERIES}]


def part_of(problem, hidden):
    """Return the MaskedProblem of a problem and hiding.Hidden values, its series filled in by interpolation."""
    left = problem.without(hidden.lost)
    shape, line = left.seen.shape, simple(left)
    series, before, after = (
        np.empty(shape, np.float32),
        np.full(shape, -1, np.int32),
        np.full(shape, shape[1], np.int32),
    )

    def describe_rows(rows):
        at_or_before, at_or_after = scans.nearest(left.seen[rows])
        before[rows, 1:], after[rows, :-1] = at_or_before[:, :-1], at_or_after[:, 1:]
        series[rows] = np.where(left.seen[rows], left.values[rows], line[rows])

    by_rows(describe_rows, shape)
    return MaskedProblem(hidden.values, left, places.kinds(left), series, before, after)


def predictors_of(part, near):
    """Return the Predictors of a MaskedProblem: its series and values a period away."""
    problem, series = part.problem, [part.series]
    if problem.period and 2 * problem.period <= part.series.shape[1]:
        series.append(period_away(part.series, problem.period))
    own = np.arange(len(near), dtype=np.int32)
    near = np.column_stack([near, *(own + number * len(near) for number in range(1, len(series)))])
    series = np.concatenate(series)
    at = problem.at.astype(np.float32)
    return Predictors(
        problem.values.astype(np.float32), part.before, part.after, at, series, np.ascontiguousarray(near)
    )


def period_away(series, period):
    """Return (N, T): the mean of a series' values a period before and after, of one of them at the ends."""
    before, after = series[:, :-period], series[:, period:]
    out = np.empty_like(series)
    out[:, :period], out[:, -period:] = after[:, :period], before[:, -period:]
    out[:, period:-period] = 0.5 * (before[:, :-period] + after[:, period:])
    return out


def near_of(whole, neighbors):
    """Return (N, k) int32: the predicting series of each vertex of a MaskedProblem."""
    alive = whole.problem.seen.any(axis=1)
    return most_similar(whole.series, alive, whole.problem.adjacency, min(neighbors, len(alive) - 1))


def learn(steps, parts, all_predictors, whole):
    """Return (KINDS N, size) float64 coefficients of each kind and vertex; all_predictors: Predictors of each part."""
    problem = whole.problem
    rng = np.random.default_rng(problem.options.seed)
    orders = [rng.permutation(np.count_nonzero(learnable(part))) for part in parts]
    chosen = shared_out(lambda pair: sample_hidden(*pair, len(parts)), zip(parts, orders))
    folds = [describe_hidden(steps, part, problem.values, *rest) for part, *rest in zip(parts, all_predictors, chosen)]
    return Table(steps, len(problem.values), problem.options.metric, rng).coefficients(folds)


def describe_hidden(steps, part, values, predictors, places):
    """Return table.HiddenValues of hidden values (vertex, column) of a MaskedProblem."""
    vertex, column = places
    x, base = steps.describe(steps.upload(predictors), vertex, column)
    group = part.kinds[vertex, column].astype(np.int64) * len(values) + vertex
    return HiddenValues(x, base, values[vertex, column].astype(np.float32) - steps.to_host(base), group)


def learnable(part):
    """Return (N, T) bool: the hidden values used for learning."""
    return part.hidden & (part.kinds != places.NEVER)


def sample_hidden(part, order, parts):
    """Return (vertex, column) int32 of hidden values for learning, a limited number per kind and vertex.

    order: of learnable().
    """
    vertex, column = np.nonzero(learnable(part))
    group = part.kinds[vertex, column].astype(np.int64) * len(part.hidden) + vertex
    kept, _ = grouped(group, KINDS * len(part.hidden), max(1, VALUES_PER_VERTEX // parts), order)
    return vertex[kept].astype(np.int32), column[kept].astype(np.int32)


def predict_all(steps, parts, all_predictors, coefficients):
    """Return [MaskedProblem] with series predicted by coefficients; all_predictors: Predictors of each."""
    missing = shared_out(list_missing, parts)
    return [predict_missing(steps, part, *rest, coefficients) for part, *rest in zip(parts, all_predictors, missing)]


def list_missing(part):
    """Return the Missing values of a MaskedProblem."""
    seen, kinds = part.problem.seen, part.kinds

    def describe_hidden(rows):
        vertex, column = np.nonzero(~seen[rows] & (kinds[rows] != places.NEVER))
        kind, vertex = kinds[rows][vertex, column].astype(np.int32), (rows.start + vertex).astype(np.int32)
        return vertex, column.astype(np.int32), kind * len(seen) + vertex

    return Missing(*map(np.concatenate, zip(*by_rows(describe_hidden, seen.shape))), limits_of(part.problem))


def predict_missing(steps, part, predictors, missing, coefficients):
    """Return a MaskedProblem with its Missing values filled in."""
    series, predictors = part.series.copy(), steps.upload(predictors)
    for first in range(0, len(missing.vertex), BLOCK_NUMBERS):
        vertex, column, group = (one[first : first + BLOCK_NUMBERS] for one in missing[:3])
        x, base = steps.describe(predictors, vertex, column)
        answers = steps.predict(x, base, group, coefficients)
        series[vertex, column] = within(answers, steps.to_host(base), missing.limits[vertex])
    return part._replace(series=series)


def limits_of(problem):
    """Return (N, 2): the observed range of each vertex, extended by RANGE_MARGIN on either side."""

    def describe_hidden(rows):
        seen, values = problem.seen[rows], problem.values[rows]
        low = np.where(seen, values, np.inf).min(axis=1)
        high = np.where(seen, values, -np.inf).max(axis=1)
        return np.column_stack((low - RANGE_MARGIN * (high - low), high + RANGE_MARGIN * (high - low)))

    return np.concatenate(by_rows(describe_hidden, problem.seen.shape))


def within(answers, base, limits):
    """Replace answers beyond limits (n, 2) by interpolation.

    Such answers come from coefficients of few values with unusual features.
    """
    return np.where((answers >= limits[:, 0]) & (answers <= limits[:, 1]), answers, base)


METHOD = Method("local", suits, settings, fill, ordered=True, long=True)


ALL = 2048  # largest number of vertices whose pairs are all compared


def most_similar(series, alive, adjacency, count):
    """Return (N, count) int32: for each vertex the others with the highest correlation, in descending order.

    series (N, T) float32, complete; alive (N,) bool: vertices with observations; others come last. With many vertices
    only graph neighbours are compared, and the first ones fill up lists with too few.
    """
    whole = np.empty(series.shape, np.float32)
    by_rows(lambda rows: scaled(series[rows], whole[rows]), series.shape)
    if len(series) <= ALL:
        return best_correlated(whole @ whole.T, alive, count)
    return of_graph(whole, alive, adjacency, count)


def scaled(series, out):
    """Write out = series (n, T) less their means, of length 1."""
    out[:] = series - series.mean(axis=1, keepdims=True)
    size = np.linalg.norm(out, axis=1)
    out /= np.where(size > 0, size, 1)[:, None]


def best_correlated(correlation, alive, count):
    """Return (N, count) int32: the columns with the highest correlation, except for the vertex itself."""
    correlation[:, ~alive] = -2.0
    np.fill_diagonal(correlation, -3.0)
    return np.argsort(-correlation, axis=1, kind="stable")[:, :count].astype(np.int32)


def of_graph(whole, alive, adjacency, count):
    """Run best() among the neighbours on a graph."""
    near = heaviest(adjacency, 32)
    rows = np.repeat(np.arange(len(whole)), np.diff(near.indptr))
    correlations = np.empty(len(rows), np.float32)

    def correlate_pairs(pairs):
        correlations[pairs] = np.einsum("ij,ij->i", whole[rows[pairs]], whole[near.indices[pairs]])

    by_rows(correlate_pairs, (len(rows), whole.shape[1]))
    correlations[~alive[near.indices]] = -2.0
    order = np.lexsort((-correlations, rows))
    out = np.repeat(np.arange(len(whole), dtype=np.int32)[:, None], count, axis=1)  # features of itself are 0
    rank = np.arange(len(order)) - near.indptr[rows]
    kept = rank < count
    out[rows[order][kept], rank[kept]] = near.indices[order][kept]
    return out
