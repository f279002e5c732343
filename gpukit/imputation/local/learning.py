"""The local regression from a problem to what is filled in."""

from typing import NamedTuple

import numpy as np

from gpukit._pool import by_rows, shared_out
from gpukit.device.engine import engine
from gpukit.imputation import scans
from gpukit.imputation.auto import hiding, places
from gpukit.imputation.auto.judging import simple
from gpukit.imputation.auto.places import KINDS
from gpukit.imputation.local.alike import alike
from gpukit.imputation.local.plan import FEWEST, FOLDS, MOST, OF_VERTEX, PASSES, TOGETHER, WINDOW
from gpukit.imputation.local.steps import Ground
from gpukit.imputation.local.table import Table, Told, numbered, ranks
from gpukit.imputation.soft_impute import method as soft_impute
from gpukit.imputation.soft_impute.plan import SHARES

MARGIN = 0.25  # of a vertex's range, beyond which no answer of a regression is believed
FLOOR = 0.05  # of the usual scale of a vertex: none is less


class Part(NamedTuple):
    """A problem with some of it hidden, in units of its vertices.

    hidden (N, T) bool; problem; kinds (N, T) int8; series (N, T) float32: whole ones, as they are known so far; smooth
    (N, T) float32: of low rank, or None; before, after (N, T) int32 (steps.Ground).
    """

    hidden: np.ndarray
    problem: object
    kinds: np.ndarray
    series: np.ndarray
    smooth: np.ndarray | None
    before: np.ndarray
    after: np.ndarray


class Learned(NamedTuple):
    """coefficients (KINDS N, size) float64, of a kind and a vertex each; near (N, k) int32."""

    coefficients: np.ndarray
    near: np.ndarray


def fill(problem, setting):
    """(N, T): what is filled in; NaN for vertices of which nothing is observed."""
    mean, scale = units(problem)
    inner = problem._replace(values=np.where(problem.seen, (problem.values - mean) / scale, 0.0))
    few = inner.window(WINDOW)
    if 2 * inner.period > few.seen.shape[1]:
        inner, few = inner._replace(period=0), few._replace(period=0)
    share = setting["share"] if soft_impute.suits(inner) else None
    folds = hiding.folds_of(few, problem.options.seed + 1, folds_for(few.seen))
    *parts, whole = parts_of([(few, hidden) for hidden in folds] + [(inner, hiding.nothing(inner.seen))], share)
    session = engine(problem.place.device, "gpukit.imputation.local").Session()
    ridges = None
    for number in range(PASSES if parts else 0):
        learned, ridges = learn(session, parts, whole, setting["neighbors"], ridges)
        if number + 1 < PASSES:
            parts = [filled(session, part, learned) for part in parts]
        whole = filled(session, whole, learned)
    out = whole.series * scale + mean
    out[~problem.seen.any(axis=1)] = np.nan
    return out


def folds_for(seen):
    """How many folds: as many as tell each vertex enough, and memory allows."""
    return max(FEWEST, min(FOLDS, FOLDS * WINDOW // seen.size, -(-OF_VERTEX * 15 // seen.shape[1])))


def units(problem):
    """(N, 1) means and scales of the vertices."""
    count = np.maximum(problem.seen.sum(axis=1, keepdims=True), 1)
    mean = problem.values.sum(axis=1, keepdims=True) / count
    rest = np.where(problem.seen, problem.values - mean, 0.0)
    usual = np.sqrt(np.square(rest).sum() / max(1, problem.seen.sum())) or 1.0
    return mean, np.maximum(np.sqrt(np.square(rest).sum(axis=1, keepdims=True) / count), FLOOR * usual)


def settings(problem):
    """[{"neighbors", "share"}]: how many other series are looked at, and soft-impute's share with the least error on a
    fold; None where it cannot be had."""
    mean, scale = units(problem)
    inner = problem._replace(values=np.where(problem.seen, (problem.values - mean) / scale, 0.0)).window(WINDOW)
    folds = hiding.folds_of(inner, problem.options.seed + 1, 1)
    return [{"neighbors": MOST, "share": best_share(inner, folds[0]) if folds else None}]


def best_share(problem, hidden):
    """The share of soft-impute with the least error on a fold."""
    if not soft_impute.suits(problem):
        return None
    left = problem.without(hidden.lost)
    estimates = soft_impute.fill_all([left] * len(SHARES), SHARES)
    residuals = [(one - problem.values)[hidden.values] for one in estimates]
    return min((float(np.abs(one).mean()), share) for one, share in zip(residuals, SHARES))[1]


def parts_of(pairs, share):
    """[Part] of [(problem, hiding.Hidden)]; share: soft-impute's, or None."""
    left = shared_out(lambda pair: pair[0].without(pair[1].lost), pairs)
    smooth = [None] * len(pairs) if share is None else soft_impute.fill_all(left, [share] * len(left))
    given = [(hidden.values, *both) for (_, hidden), *both in zip(pairs, left, smooth)]
    return [*shared_out(lambda one: part_of(*one), given[:-1]), part_of(*given[-1])]  # the last is larger: row by row


def part_of(hidden, left, smooth):
    """A Part of what is left of a problem, its series filled in by interpolation."""
    shape, line = left.seen.shape, simple(left)
    series, before, after = np.empty(shape, np.float32), np.empty(shape, np.int32), np.empty(shape, np.int32)

    def told(rows):
        scans.beside(*scans.some(rows, left.seen), before[rows], after[rows])
        series[rows] = np.where(left.seen[rows], left.values[rows], line[rows])

    by_rows(told, shape)
    smooth = None if smooth is None else smooth.astype(np.float32)
    return Part(hidden, left, places.kinds(left), series, smooth, before, after)


def ground_of(part, near):
    """The steps.Ground of a Part: its series, those of low rank, and where there is a period what they are a period
    before and after."""
    problem, series = part.problem, [part.series]
    if part.smooth is not None:
        series.append(part.smooth)
    if problem.period and 2 * problem.period <= part.series.shape[1]:
        series.append(period_away(part.series, problem.period))
    own = np.arange(len(near), dtype=np.int32)
    near = np.column_stack([near, *(own + number * len(near) for number in range(1, len(series)))])
    series = np.concatenate(series)
    at = problem.at.astype(np.float32)
    return Ground(problem.values.astype(np.float32), part.before, part.after, at, series, np.ascontiguousarray(near))


def period_away(series, period):
    """(N, T): the mean of what a series is a period before and after, of one of them at the ends."""
    before, after = series[:, :-period], series[:, period:]
    out = np.empty_like(series)
    out[:, :period], out[:, -period:] = after[:, :period], before[:, -period:]
    out[:, period:-period] = 0.5 * (before[:, :-period] + after[:, period:])
    return out


def learn(session, parts, whole, neighbors, ridges):
    """(Learned from what the parts hide, the ridge of each kind); ridges: those, or None where they are to be found."""
    alive = whole.problem.seen.any(axis=1)
    count = len(alive)
    near = alike(whole.series, alive, whole.problem.adjacency, min(neighbors, count - 1))
    rng = np.random.default_rng(whole.problem.options.seed)
    folds = [told(session, part, whole.problem.values, near, some(part, rng, len(parts))) for part in parts]
    table = Table(session, count, whole.problem.options.metric, rng)
    if ridges is None:
        ridges = table.ridges(folds[:-1], folds[-1])
    return Learned(table.coefficients(folds, ridges), near), ridges


def told(session, part, values, near, places):
    """table.Told of hidden values (vertex, column) of a Part."""
    vertex, column = places
    x, base = session.describe(ground_of(part, near), vertex, column)
    group = part.kinds[vertex, column].astype(np.int64) * len(values) + vertex
    return Told(x, base, values[vertex, column].astype(np.float32) - session.host(base), group)


def some(part, rng, parts):
    """(vertex, column) int32 of hidden values that are learned from: of each kind and vertex not too many."""
    vertex, column = np.nonzero(part.hidden & (part.kinds != places.NEVER))
    order = rng.permutation(len(vertex))
    vertex, column = vertex[order], column[order]
    group = numbered(part.kinds[vertex, column].astype(np.int64) * len(part.hidden) + vertex, KINDS * len(part.hidden))
    order = np.argsort(group, kind="stable")
    rank = ranks(group[order])
    kept = order[rank < max(1, OF_VERTEX // parts)]
    return vertex[kept].astype(np.int32), column[kept].astype(np.int32)


def filled(session, part, learned):
    """A Part with its series filled in anew."""
    vertex, column = np.nonzero(~part.problem.seen & (part.kinds != places.NEVER))
    vertex, column = vertex.astype(np.int32), column.astype(np.int32)
    ground, series = ground_of(part, learned.near), part.series.copy()
    group = part.kinds[vertex, column].astype(np.int32) * len(series) + vertex
    limits = limits_of(part.problem)
    for first in range(0, len(vertex), TOGETHER):
        few = slice(first, first + TOGETHER)
        x, base = session.describe(ground, vertex[few], column[few])
        answers = session.answer(x, base, group[few], learned.coefficients)
        series[vertex[few], column[few]] = within(answers, session.host(base), limits[vertex[few]])
    return part._replace(series=series)


def limits_of(problem):
    """(N, 2): the least and the greatest that is observed of a vertex, and on either side MARGIN of their distance."""

    def told(rows):
        seen, values = problem.seen[rows], problem.values[rows]
        low = np.where(seen, values, np.inf).min(axis=1)
        high = np.where(seen, values, -np.inf).max(axis=1)
        return np.column_stack((low - MARGIN * (high - low), high + MARGIN * (high - low)))

    return np.concatenate(by_rows(told, problem.seen.shape))


def within(answers, base, limits):
    """Answers, and in place of those beyond their limits (n, 2) what interpolation says: coefficients that few values
    told, met by features that none of these had."""
    return np.where((answers >= limits[:, 0]) & (answers <= limits[:, 1]), answers, base)
