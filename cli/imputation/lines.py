"""Plots of series: sensors with the largest gaps, errors by method, the map."""

import numpy as np

from gpukit.cli.imputation.steps import longest_runs
from gpukit.cli.imputation.table import called
from gpukit.cli.pictures import ROUNDING, limits_of

SHOWN = 3  # sensors
AROUND = 2.0  # times the gap, on either side of it
LEAST = 48  # columns that are drawn
SIGMAS = 1.645  # either way of 90 % of a normal distribution


def are_series(done):
    """Return True if the data are series that were judged, with deviations."""
    _, m, n = done.data.tensor.shape
    return m == 1 and n > 7 and done.model.plan_ is not None


def some_gaps(done):
    """Return [(vertex, first, end)]: the longest gap of the vertices with the longest ones.

    At most one vertex that misses everything comes first.
    """
    seen = np.broadcast_to(
        done.data.mask if done.data.mask.ndim == 3 else done.data.mask[:, None, None], shape_of(done)
    )
    lengths, firsts = longest_runs(~seen[:, 0][:, order_of(done)])
    order = [int(vertex) for vertex in np.argsort(-lengths, kind="stable") if lengths[vertex]]
    whole = [vertex for vertex in order if lengths[vertex] == seen.shape[2]]
    order = whole[:1] + [vertex for vertex in order if vertex not in whole] + whole[1:]
    return [(vertex, int(firsts[vertex]), int(firsts[vertex] + lengths[vertex])) for vertex in order[:SHOWN]]


def shape_of(done):
    return done.data.tensor.shape


def order_of(done):
    """Return the columns in order of time, (T,)."""
    times = done.data.times
    return np.arange(shape_of(done)[2]) if times is None else np.argsort(times, kind="stable")


def draw_series(axis, done, gap):
    """Draw observed, imputed and true values around a gap, with the band.

    The band contains 90 %.
    """
    data, model, (vertex, first, end) = done.data, done.model, gap
    order, T = order_of(done), shape_of(done)[2]
    margin = max(int(AROUND * (end - first)), LEAST // 2)
    some = order[max(0, first - margin) : min(T, end + margin)]
    at = np.arange(T)[max(0, first - margin) : min(T, end + margin)]
    if data.times is not None:
        at = data.times[some].astype("datetime64[s]")
    value, deviation = (
        array.reshape(len(data.tensor), -1)[vertex, some] for array in (model.completed_, model.deviation_)
    )
    seen = np.broadcast_to(data.mask[vertex], (1, T))[0, some]
    if data.truth is not None:
        axis.plot(at, data.truth[vertex, 0, some], color="0.6", linewidth=1, linestyle="--", label="true")
    axis.plot(at, value, color="C1", linewidth=1.2, label="filled in")
    draw_band(axis, at, value, np.where(seen, 0.0, SIGMAS * deviation))
    axis.plot(at, np.where(seen, value, np.nan), color="C0", marker=".", markersize=3, linewidth=1, label="observed")
    axis.set(title=f"{called(data, vertex)}: {end - first:,} of {T:,} missing in a row")
    low, high, differ = limits_of(value)
    if not differ and not (deviation > ROUNDING * max(abs(low), abs(high))).any():
        axis.set_ylim(low, high)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7)


def draw_band(axis, at, value, band):
    """Draw value - band to value + band.

    It is an area, or a bar at an isolated position. Nothing is drawn if the band has no width.
    """
    wide = band > ROUNDING * max(np.abs(value).max(), band.max())
    padded = np.pad(wide, 1)
    alone = wide & ~padded[:-2] & ~padded[2:]
    low, high = value - band, value + band
    if (wide & ~alone).any():
        axis.fill_between(at, low, high, where=wide & ~alone, color="C1", alpha=0.25, linewidth=0, label="90 %")
    if alone.any():
        label = None if (wide & ~alone).any() else "90 %"
        axis.vlines(at[alone], low[alone], high[alone], color="C1", alpha=0.25, linewidth=3, label=label)


def draw_methods(axis, rows):
    """Draw errors on hidden values with their spread over the folds.

    Selected methods are in colour.
    """
    rows = rows[::-1]
    errors, spread = [row.error for row in rows], [0.0 if row.spread != row.spread else row.spread for row in rows]
    colors = ["C1" if row.share else "0.7" for row in rows]
    axis.barh([row.name for row in rows], errors, xerr=spread, color=colors, error_kw={"linewidth": 1})
    best = min(errors, default=0.0)
    axis.set(title="error on hidden values", xlim=(0, 4 * best if best > 0 else None))
    axis.tick_params(axis="y", labelsize=7)
    axis.grid(alpha=0.3, axis="x")


def draw_map(axis, done, found):
    """Draw the vertices with their mean deviation of imputed values, and the edges."""
    y, x = found.places.T
    edges = done.data.adjacency.tocoo()
    ends = edges.row < edges.col
    for one, other in zip(edges.row[ends], edges.col[ends]):
        axis.plot(x[[one, other]], y[[one, other]], color="0.85", linewidth=0.5, zorder=1)
    deviation = np.where(done.model.deviation_ > 0, done.model.deviation_, np.nan).reshape(len(x), -1)
    lacking = np.isfinite(deviation).any(axis=1)
    axis.scatter(x[~lacking], y[~lacking], color="0.6", s=10, zorder=2)
    means = np.nanmean(deviation[lacking], axis=1)
    low, high, differ = limits_of(means)
    image = axis.scatter(x[lacking], y[lacking], c=means, s=25, zorder=3, vmin=low, vmax=high)
    names = ("longitude", "latitude") if found.degrees else ("x", "y")
    alike = "" if differ or not len(means) else f": {means[0]:.3g}"
    axis.set(title=f"standard deviation of imputed values{alike}", xlabel=names[0], ylabel=names[1])
    if differ:
        axis.figure.colorbar(image, ax=axis)
