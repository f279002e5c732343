"""Plots of several verbs. matplotlib is imported on first use."""

import contextlib
from pathlib import Path

import numpy as np

from gpukit.persist import atomic_write


@contextlib.contextmanager
def picture(path, width, height=3.6, **subplots):
    """Yield the axes of a figure that is written to path atomically.

    path: png, pdf or svg; width, height: inches; subplots: arguments of Figure.subplots.
    """
    with canvas(path, width, height) as figure:
        yield figure.subplots(**subplots)


@contextlib.contextmanager
def canvas(path, width, height):
    """Yield an empty figure that is written to path atomically.

    path: png, pdf or svg; width, height: inches.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    yield figure
    with atomic_write(path) as aside:
        figure.savefig(aside, dpi=150, format=Path(path).suffix.lower().lstrip("."))


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


def curves(points, labels, bases, path):
    """Draw {name: [(x, y)]} as curves and write them to path.

    path: png, pdf or svg; labels: of both axes; bases: of their logarithms, None for a linear axis.
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
