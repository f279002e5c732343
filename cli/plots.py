"""Pictures of a training run. matplotlib is imported when one is drawn."""

import contextlib
from pathlib import Path


@contextlib.contextmanager
def picture(path, width, height=3.6, **subplots):
    """The axes of a figure that is written to path (png, pdf or svg), whole or not at all.

    width, height: inches; subplots: arguments of Figure.subplots.
    """
    from matplotlib.figure import Figure

    from gpukit.persist import atomic_write

    figure = Figure(figsize=(width, height), layout="constrained")
    yield figure.subplots(**subplots)
    with atomic_write(path) as aside:
        figure.savefig(aside, dpi=150, format=Path(path).suffix.lower().lstrip("."))


def training_curve(history, name, references, path):
    """Draw RMSE after each epoch, against epochs and against seconds, and write it to path (png, pdf or svg).

    history: dicts with epoch, seconds, rmse; name: the curve's, for the legend; references: {label: RMSE} as lines.
    """
    with picture(path, 9, ncols=2, sharey=True) as axes:
        for axis, key, label in zip(axes, ("epoch", "seconds"), ("epochs", "seconds of training")):
            axis.plot([row[key] for row in history], [row["rmse"] for row in history], marker="o", markersize=3,
                      label=name)
            for color, (reference, value) in enumerate(references.items(), start=1):
                axis.axhline(value, linestyle="--", linewidth=1, color=f"C{color}", label=reference)
            axis.set_xlabel(label)
            axis.grid(alpha=0.3)
        axes[0].set_ylabel("RMSE")
        axes[1].legend()


def curves(points, labels, bases, path):
    """Draw {name: [(x, y)]} as curves and write them to path (png, pdf or svg).

    labels: of both axes; bases: of their logarithms, None for a plain axis.
    """
    with picture(path, 6) as axis:
        for name, curve in points.items():
            axis.plot(*zip(*curve), marker="o", markersize=3, label=name)
        axis.set(xlabel=labels[0], ylabel=labels[1])
        for set_scale, base in zip((axis.set_xscale, axis.set_yscale), bases, strict=True):
            if base is not None:
                set_scale("log", base=base)
        axis.grid(alpha=0.3)
        axis.legend()
