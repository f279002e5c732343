"""Pictures of a training run. matplotlib is imported when one is drawn."""

from pathlib import Path


def training_curve(history, name, references, path):
    """Draw RMSE after each epoch, against epochs and against seconds, and write it to path (png, pdf or svg).

    history: dicts with epoch, seconds, rmse; name: the curve's, for the legend; references: {label: RMSE} as lines.
    """
    from matplotlib.figure import Figure

    from gpukit.persist import atomic_write

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, key, label in zip(axes, ("epoch", "seconds"), ("epochs", "seconds of training")):
        axis.plot([row[key] for row in history], [row["rmse"] for row in history], marker="o", markersize=3, label=name)
        for color, (reference, value) in enumerate(references.items(), start=1):
            axis.axhline(value, linestyle="--", linewidth=1, color=f"C{color}", label=reference)
        axis.set_xlabel(label)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("RMSE")
    axes[1].legend()
    with atomic_write(path) as aside:
        figure.savefig(aside, dpi=150, format=Path(path).suffix.lower().lstrip("."))
