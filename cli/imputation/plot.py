"""Plot of `gpukit impute --plot`: errors, series or slices."""

import numpy as np

from gpukit.cli.imputation import lines
from gpukit.cli.imputation.table import called, lacking_vertices, law
from gpukit.cli.pictures import canvas, limits_of
from gpukit.imputation.centering import mean_of

FREQUENCIES = 200  # of the spectrum, evenly spaced over the slices
LEADING = 5  # singular values of a slice
HEIGHT = 2.4  # inches per row


def draw(path, done, coordinates=None):
    """Write the plot of a steps.Done to path (png, pdf or svg).

    coordinates: near.coordinates.Coordinates of the vertices, or None.
    """
    series = lines.are_series(done)
    below = lines.some_gaps(done) if series else some_vertices(done)
    above = panels(done, coordinates)
    with canvas(path, 11, 1.2 + HEIGHT * (1 + len(below))) as figure:
        first, *others = figure.subfigures(1 + len(below), 1, squeeze=False)[:, 0]
        for axis, paint in zip(first.subplots(1, len(above), squeeze=False)[0], above):
            paint(axis)
        for part, one in zip(others, below):
            if series:
                lines.draw_series(part.subplots(), done, one)
            else:
                draw_slices(part.subplots(1, 2 + (done.data.truth is not None)), done, one)


def panels(done, coordinates=None):
    """Return [function of an axis] for the top row: convergence, errors, spectrum, map."""
    model, found = done.model, []
    if len(model.history_.change) or model.plan_ is None:
        found.append(lambda axis: draw_changes(axis, model.history_))
    if model.plan_ is not None and done.rows:
        found.append(lambda axis: lines.draw_methods(axis, done.rows))
    elif model.trials_ or model.holdout_history_ is not None or done.rows:
        found.append(lambda axis: draw_errors(axis, done))
    if has_spectrum(done):
        found.append(lambda axis: draw_spectrum(axis, done))
    if coordinates is not None:
        found.append(lambda axis: lines.draw_map(axis, done, coordinates))
    return found or [lambda axis: draw_changes(axis, model.history_)]


def has_spectrum(done):
    """Return True if there are slices with a Fourier basis."""
    return not lines.are_series(done) and done.confidence is not None


def some_vertices(done):
    """Return vertices with gaps: those with the least, median and greatest confidence.

    Without a confidence, vertices are ordered by their share of observed values.
    """
    lacking, mask = lacking_vertices(done), done.data.mask
    known = mask.reshape(len(mask), -1).mean(axis=1) if done.confidence is None else done.confidence
    order = lacking[np.argsort(known[lacking], kind="stable")]
    return list(dict.fromkeys(order[[0, len(order) // 2, -1]].tolist())) if len(order) else [0]


def draw_changes(axis, history):
    """Draw the relative change by iteration, by phase."""
    path = int((history.phase == "path").sum())
    changes = np.where(history.change > 0, history.change, np.nan)
    iterations = np.arange(1, len(changes) + 1)
    axis.plot(iterations[:path], changes[:path], marker="o", markersize=3, label="falling thresholds")
    if path < len(changes):
        axis.plot(iterations[path:], changes[path:], marker="o", markersize=3, label="fixed ranks")
    axis.set(xlabel="iteration", ylabel="squared change, relative", title="convergence", yscale="log")
    axis.grid(alpha=0.3)
    if len(changes):
        axis.legend()


def draw_errors(axis, done):
    """Draw the hold-out error by iteration of the run or all trials."""
    model = done.model
    curves = {"hidden": model.holdout_history_.error} if model.holdout_history_ is not None else trial_curves(model)
    for name, errors in curves.items():
        axis.plot(np.arange(1, len(errors) + 1), errors, marker="o", markersize=3, label=name)
    for color, row in enumerate(done.rows, start=len(curves)):
        axis.axhline(row.error, linestyle="--", linewidth=1, color=f"C{color}", label=row.name)
    axis.set(xlabel="iteration", title="error on hidden values")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7)


def trial_curves(model):
    """Return {name: errors} of the trials of 'auto', last round first."""
    found = {}
    for trial in model.trials_:
        weights, exponent, center = trial.setting[:3]
        found.setdefault(f"{law(weights, exponent)}, {center}", trial.curve)
    return found


def draw_spectrum(axis, done):
    """Draw leading singular values of spectral slices by frequency, and the ranks."""
    frequencies, values = spectrum(done)
    for place in range(min(LEADING, values.shape[1])):
        axis.plot(
            frequencies,
            np.maximum(values[:, place], 1e-12 * values.max()),
            ".",
            markersize=3,
            label=f"singular value {place + 1}",
        )
    axis.set(xlabel="graph frequency", title="spectrum of the completed tensor", yscale="log")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7)
    ranks = done.model.ranks_
    if len(ranks):
        other = axis.twinx()
        other.plot(done.model.basis_.values, ranks, color="0.6", linewidth=1)
        other.set(ylabel="rank", ylim=(0, max(1, int(ranks.max())) * 1.1))


def spectrum(done):
    """Return (frequencies (F,), singular values (F, min(m, n))) of sampled spectral slices."""
    model, data = done.model, done.data
    count, m, n = data.tensor.shape
    values, vectors = model.basis_.values, model.basis_.vectors
    some = np.unique(np.linspace(0, len(values) - 1, min(FREQUENCIES, len(values))).astype(int))
    U = vectors[:, some]
    slices = U.T @ model.completed_.reshape(count, m * n)
    slices -= np.outer(U.sum(axis=0), mean_of(data.tensor, data.mask, model.center_).ravel())
    return values[some], np.linalg.svd(slices.reshape(-1, m, n), compute_uv=False)


def draw_slices(axes, done, vertex):
    """Draw the slices of a vertex on one colour scale.

    Observed, completed and, if known, true values.
    """
    data, model = done.data, done.model
    seen = np.broadcast_to(data.mask[vertex], data.tensor.shape[1:])
    completed = model.completed_.reshape(data.tensor.shape)[vertex]
    shown = {"observed": np.where(seen, data.tensor[vertex], np.nan), "completed": completed}
    if data.truth is not None:
        shown["true"] = data.truth[vertex]
    known = shown.get("true", shown["completed"])
    sure = "" if done.confidence is None else f" (confidence {done.confidence[vertex]:.3f})"
    low, high, differ = limits_of(known)
    for axis, (name, values) in zip(axes, shown.items()):
        image = axis.imshow(np.ma.masked_invalid(values), aspect="auto", interpolation="nearest", vmin=low, vmax=high)
        axis.set(
            title=f"vertex {called(data, vertex)}, {name}{sure if name == 'completed' else ''}",
            facecolor="0.85",
        )
    if differ:
        axes[0].figure.colorbar(image, ax=list(axes))
    else:
        axes[-1].set_xlabel(f"all {known.flat[0]:.4g}")
