"""The picture of `gpukit impute --plot`: how it converged, the spectrum, and slices of a few vertices."""

import numpy as np

from gpukit.cli.imputation.table import called, lacking_vertices, law
from gpukit.cli.pictures import picture
from gpukit.imputation.centering import mean_of

FREQUENCIES = 200  # of the spectrum, evenly spaced over the slices
LEADING = 5  # singular values of a slice
HEIGHT = 2.4  # inches a row


def draw(path, done):
    """Write the picture of an imputing.Done to path (png, pdf or svg)."""
    vertices = some_vertices(done)
    rows = 1 + len(vertices)
    with picture(path, 11, 1.2 + HEIGHT * rows, nrows=rows, ncols=3, squeeze=False) as axes:
        draw_changes(axes[0, 0], done.model.history_)
        draw_errors(axes[0, 1], done)
        draw_spectrum(axes[0, 2], done)
        for row, vertex in zip(axes[1:], vertices):
            draw_slices(row, done, vertex)


def some_vertices(done):
    """The vertices that miss something with the least, the middle and the most confidence."""
    lacking = lacking_vertices(done)
    order = lacking[np.argsort(done.model.confidence_[lacking], kind="stable")]
    return list(dict.fromkeys(order[[0, len(order) // 2, -1]].tolist())) if len(order) else [0]


def draw_changes(axis, history):
    """The relative change by iteration, and where the phase of fixed ranks begins."""
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
    """The hold-out error by iteration: of the run on hidden data, or of what was tried."""
    model = done.model
    curves = {"hidden": model.holdout_history_.error} if model.holdout_history_ is not None else trial_curves(model)
    for name, errors in curves.items():
        axis.plot(np.arange(1, len(errors) + 1), errors, marker="o", markersize=3, label=name)
    for color, row in enumerate(done.rows, start=len(curves)):
        axis.axhline(row.error, linestyle="--", linewidth=1, color=f"C{color}", label=row.name)
    axis.set(xlabel="iteration", title="error on hidden values")
    if not curves and not done.rows:
        axis.set_axis_off()
        return
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7)


def trial_curves(model):
    """{name: errors} of what 'auto' tried, the first of each name (the last round comes first)."""
    found = {}
    for trial in model.trials_:
        weights, exponent, center = trial.setting[:3]
        found.setdefault(f"{law(weights, exponent)}, {center}", trial.curve)
    return found


def draw_spectrum(axis, done):
    """The leading singular values of spectral slices by frequency, and the ranks that the slices were given."""
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
    """(frequencies (F,), singular values (F, min(m, n))) of some spectral slices of the completed, centred tensor."""
    model, data = done.model, done.data
    count, m, n = data.tensor.shape
    values, vectors = model.basis_.values, model.basis_.vectors
    some = np.unique(np.linspace(0, len(values) - 1, min(FREQUENCIES, len(values))).astype(int))
    U = vectors[:, some]
    slices = U.T @ model.completed_.reshape(count, m * n)
    slices -= np.outer(U.sum(axis=0), mean_of(data.tensor, data.mask, model.center_).ravel())
    return values[some], np.linalg.svd(slices.reshape(-1, m, n), compute_uv=False)


def draw_slices(axes, done, vertex):
    """Observed, completed and, where it is known, true slice of one vertex, in one scale of colours."""
    data, model = done.data, done.model
    seen = np.broadcast_to(data.mask[vertex], data.tensor.shape[1:])
    shown = {"observed": np.where(seen, data.tensor[vertex], np.nan), "completed": model.completed_[vertex]}
    if data.truth is not None:
        shown["true"] = data.truth[vertex]
    known = shown.get("true", shown["completed"])
    limits = {"vmin": float(known.min()), "vmax": float(known.max())}
    for axis, (name, values) in zip(axes, shown.items()):
        image = axis.imshow(np.ma.masked_invalid(values), aspect="auto", interpolation="nearest", **limits)
        axis.set(
            title=f"vertex {called(data, vertex)}, {name} (confidence {model.confidence_[vertex]:.3f})"
            if name == "completed"
            else f"vertex {called(data, vertex)}, {name}",
            facecolor="0.85",
        )
    axes[0].figure.colorbar(image, ax=list(axes))
    for axis in axes[len(shown) :]:
        axis.set_axis_off()
