"""Pictures of a training run. matplotlib is imported when one is drawn."""

from gpukit.cli.pictures import picture


def training_curve(history, name, references, path):
    """Draw RMSE after each epoch, against epochs and against seconds, and write it to path (png, pdf or svg).

    history: dicts with epoch, seconds, rmse; name: the curve's, for the legend; references: {label: RMSE} as lines.
    """
    with picture(path, 9, ncols=2, sharey=True) as axes:
        for axis, key, label in zip(axes, ("epoch", "seconds"), ("epochs", "seconds of training")):
            axis.plot(
                [row[key] for row in history], [row["rmse"] for row in history], marker="o", markersize=3, label=name
            )
            for color, (reference, value) in enumerate(references.items(), start=1):
                axis.axhline(value, linestyle="--", linewidth=1, color=f"C{color}", label=reference)
            axis.set_xlabel(label)
            axis.grid(alpha=0.3)
        axes[0].set_ylabel("RMSE")
        axes[1].legend()
