"""Pictures of a training run. matplotlib is imported when one is drawn."""

from gpukit.cli.pictures import picture


def training_curve(history, name, references, path):
    """Draw RMSE by epoch and by seconds, and write it to path.

    path: png, pdf or svg; history: dicts with epoch, seconds, rmse; name: the curve's, for the legend; references:
    {label: RMSE} as lines.
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


def tuning_picture(table, means, path):
    """Draw the trials of `gpukit tune` and write the picture to path.

    RMSE by regularization, a line per model, and by epoch for the best five. table: rows of search.Tuned, best first;
    means: RMSE of user and item means, or None.
    """
    named = [row for row in table if row["n_factors"] is not None and row["rmse"] < float("inf")]
    left_open = next((row["rmse"] for row in table if row["n_factors"] is None), None)
    with picture(path, 10, 4.2, ncols=2, sharey=True) as axes:
        for name, rows in lines(named).items():
            x, y = [row["regularization"] for row in rows], [row["rmse"] for row in rows]
            axes[0].plot(x, y, marker="o", markersize=3, label=name)
        for row in named[:5]:
            label = f"{model_name(row)} lambda={row['regularization']:g}"
            axes[1].plot(range(1, len(row["curve"]) + 1), row["curve"], marker="o", markersize=3, label=label)
        x, y, spread = (named[0][name] for name in ("regularization", "rmse", "spread"))
        axes[0].errorbar([x], [y], spread or 0.0, color="k", capsize=4, label="best, spread")
        across = {"user and item means": means, "options left open": left_open}
        axes[0].set(xlabel="regularization", ylabel="RMSE on held-out folds", xscale="log")
        axes[1].set_xlabel("epochs")
        for axis in axes:
            for style, (label, value) in zip(("--", ":"), across.items(), strict=True):
                if value is not None:
                    axis.axhline(value, linestyle=style, linewidth=1, color="gray", label=label)
            axis.grid(alpha=0.3)
            axis.legend(fontsize="x-small")


def lines(rows):
    """Return {model name: its rows by regularization}."""
    found = {}
    for row in sorted(rows, key=lambda row: row["regularization"]):
        found.setdefault(model_name(row), []).append(row)
    return found


def model_name(row):
    """Name the model of a row: F, K and any named learning rate."""
    rate = "" if row["learning_rate"] is None else f" rate={row['learning_rate']:g}"
    return f"F={row['n_factors']} K={row['n_neighbors']}{rate}"
