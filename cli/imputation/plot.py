"""Plot of `gpukit impute --plot`: errors by method, the map, and series or slices with gaps."""

import numpy as np

from gpukit.cli.imputation.table import lacking_vertices, vertex_name
from gpukit.cli.outputs import canvas
from gpukit.imputation import scans
from gpukit.imputation.problem import spread

SIGMAS = 1.645  # either way of 90 % of a normal distribution


def draw(path, done, coordinates=None):
    """Write the plot of a steps.Done to path (png, pdf or svg).

    coordinates: near.coordinates.Coordinates of the vertices, or None.
    """
    paints = [lambda axis: draw_methods(axis, done.rows)] if done.rows else []
    paints += [] if coordinates is None else [lambda axis: draw_map(axis, done, coordinates)]
    _, m, n = done.data.tensor.shape
    are_series = m == 1 and n > 7 and done.model.plan_ is not None  # with deviations
    rows, paint = (longest_gaps(done), draw_series) if are_series else (typical_vertices(done), draw_slices)
    with canvas(path, 11, 1.2 + 2.4 * (bool(paints) + len(rows))) as figure:
        parts = figure.subfigures(max(1, bool(paints) + len(rows)), 1, squeeze=False)[:, 0]
        for axis, above in zip(parts[0].subplots(1, len(paints), squeeze=False)[0] if paints else (), paints):
            above(axis)
        for part, row in zip(parts[bool(paints) :], rows):
            paint(part, done, row)


def longest_gaps(done):
    """Return [(vertex, first, end)]: the longest gap of the vertices with the longest ones.

    At most one vertex that misses everything comes first.
    """
    seen = np.broadcast_to(spread(done.data.mask), done.data.tensor.shape)
    lengths, firsts = longest_runs(~seen[:, 0][:, order_of(done)])
    order = [int(vertex) for vertex in np.argsort(-lengths, kind="stable") if lengths[vertex]]
    whole = [vertex for vertex in order if lengths[vertex] == seen.shape[2]]
    order = whole[:1] + [vertex for vertex in order if vertex not in whole] + whole[1:]
    return [(vertex, int(firsts[vertex]), int(firsts[vertex] + lengths[vertex])) for vertex in order[:3]]


def longest_runs(mask):
    """Return ((N,) lengths, (N,) starts) of the longest run of True in each row, 0 where there is none."""
    row, first, end = scans.runs(mask)
    order = np.lexsort((first, first - end, row))
    row, index = np.unique(row[order], return_index=True)
    lengths, starts = np.zeros((2, len(mask)), np.int64)
    lengths[row], starts[row] = (end - first)[order[index]], first[order[index]]
    return lengths, starts


def order_of(done):
    """Return the columns in order of time, (T,)."""
    times = done.data.times
    return np.arange(done.data.tensor.shape[2]) if times is None else np.argsort(times, kind="stable")


def typical_vertices(done):
    """Return vertices with gaps: those with the smallest, the median and the largest share of observed values."""
    lacking, mask = lacking_vertices(done), done.data.mask
    order = lacking[np.argsort(mask.reshape(len(mask), -1).mean(axis=1)[lacking], kind="stable")]
    return list(dict.fromkeys(order[[0, len(order) // 2, -1]].tolist())) if len(order) else [0]


def draw_series(figure, done, gap):
    """Draw observed, imputed and true values around a gap, with the band of 90 %."""
    data, model, (vertex, first, end) = done.data, done.model, gap
    axis, T = figure.subplots(), data.tensor.shape[2]
    margin = max(2 * (end - first), 24)
    shown = slice(max(0, first - margin), min(T, end + margin))
    columns = order_of(done)[shown]
    positions = np.arange(T)[shown] if data.times is None else data.times[columns].astype("datetime64[s]")
    value, deviation = (
        part.reshape(len(data.tensor), T)[vertex, columns] for part in (model.completed_, model.deviation_)
    )
    seen = np.broadcast_to(data.mask[vertex], (1, T))[0, columns]
    if data.truth is not None:
        axis.plot(positions, data.truth[vertex, 0, columns], color="0.6", linewidth=1, linestyle="--", label="true")
    axis.plot(positions, value, color="C1", linewidth=1.2, label="filled in")
    low, high = ((value + side * SIGMAS * deviation)[~seen] for side in (-1, 1))
    axis.vlines(positions[~seen], low, high, color="C1", alpha=0.25, linewidth=3, label="90 %")
    axis.plot(
        positions, np.where(seen, value, np.nan), color="C0", marker=".", markersize=3, linewidth=1, label="observed"
    )
    axis.set(title=f"{vertex_name(data, vertex)}: {end - first:,} of {T:,} missing in a row")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7)


def draw_methods(axis, rows):
    """Draw errors on hidden values with their spread over the folds; selected methods are in colour."""
    rows = rows[::-1]
    errors, spread = [row.error for row in rows], np.nan_to_num([row.spread for row in rows])
    colors = ["C1" if row.share else "0.7" for row in rows]
    axis.barh([row.name for row in rows], errors, xerr=spread, color=colors, error_kw={"linewidth": 1})
    best = min(errors)
    axis.set(title="error on hidden values", xlim=(0, 4 * best if best > 0 else None))
    axis.tick_params(axis="y", labelsize=7)
    axis.grid(alpha=0.3, axis="x")


def draw_map(axis, done, coordinates):
    """Draw the vertices with their mean deviation of imputed values, and the edges."""
    y, x = coordinates.places.T
    edges = done.data.adjacency.tocoo()
    is_first = edges.row < edges.col
    ends = np.stack([edges.row, edges.col])[:, is_first]
    axis.plot(x[ends], y[ends], color="0.85", linewidth=0.5, zorder=1)
    deviation = np.where(done.model.deviation_ > 0, done.model.deviation_, np.nan).reshape(len(x), -1)
    lacking = np.isfinite(deviation).any(axis=1)
    axis.scatter(x[~lacking], y[~lacking], color="0.6", s=10, zorder=2)
    means = np.nanmean(deviation[lacking], axis=1)
    low, high, differ = limits_of(means)
    image = axis.scatter(x[lacking], y[lacking], c=means, s=25, zorder=3, vmin=low, vmax=high)
    names = ("longitude", "latitude") if coordinates.degrees else ("x", "y")
    suffix = "" if differ or not len(means) else f": {means[0]:.3g}"
    axis.set(title=f"standard deviation of imputed values{suffix}", xlabel=names[0], ylabel=names[1])
    if differ:
        axis.figure.colorbar(image, ax=axis)


def draw_slices(figure, done, vertex):
    """Draw the observed, completed and, if known, true slices of a vertex on one colour scale."""
    data = done.data
    seen = np.broadcast_to(data.mask[vertex], data.tensor.shape[1:])
    shown = {"observed": np.where(seen, data.tensor[vertex], np.nan)}
    shown["completed"] = done.model.completed_.reshape(data.tensor.shape)[vertex]
    if data.truth is not None:
        shown["true"] = data.truth[vertex]
    known = shown.get("true", shown["completed"])
    low, high, differ = limits_of(known)
    axes = figure.subplots(1, len(shown))
    for axis, (name, values) in zip(axes, shown.items()):
        image = axis.imshow(np.ma.masked_invalid(values), aspect="auto", interpolation="nearest", vmin=low, vmax=high)
        axis.set(title=f"vertex {vertex_name(data, vertex)}, {name}", facecolor="0.85")
    if differ:
        axes[0].figure.colorbar(image, ax=list(axes))
    else:
        axes[-1].set_xlabel(f"all {known.flat[0]:.4g}")


def limits_of(values):
    """Return the (least, greatest) value of a scale, and whether values differ.

    Differences within rounding do not count. A scale of equal values extends by a tenth of their size, or 1, to both
    sides.
    """
    rounding = 1e-6  # of the largest number: a smaller range is float32 rounding
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    size = max(abs(low), abs(high))
    if high - low > rounding * size:
        return low, high, True
    middle, margin = low / 2 + high / 2, size / 10 or 1.0
    return middle - margin, middle + margin, False
