"""What of a table may be no reading: columns that count, labels that do, and a number that stands for missing."""

import numpy as np

from gpukit._pool import by_rows
from gpukit.base.arrays import is_on_gpu
from gpukit.imputation.centering import spread

LONG = 8  # columns, from which on an even rise is no chance
EVEN = 1e-3  # of the step, by which rounding moves it
YEARS = 1500, 2500
OFTEN = 3  # values that are alike
FAR = 3.0  # ranges of all others, by which they lie beyond these


def suspects(data, vertices):
    """[text] of inputs.Data whose columns are in the order in which they were handed in; vertices: (N,) ids, or None.
    Values on a GPU are not looked at."""
    if is_on_gpu(data.tensor):
        return list(years(vertices))
    return [*years(vertices), *counters(data, vertices), *repeaters(data, vertices), *sentinels(data)]


def years(vertices):
    """Yield what to say of labels that are years, each as far from the next: of a table that lies the other way."""
    if vertices is None or len(vertices) < LONG or vertices.dtype.kind not in "iu":
        return
    ids = np.sort(vertices)
    if YEARS[0] <= ids[0] and ids[-1] <= YEARS[1] and len(np.unique(np.diff(ids))) == 1:
        yield (
            f"the sensors' labels, {ids[0]} to {ids[-1]}, are {ids[1] - ids[0]} apart, as those of years are: if they "
            "are times, say which side the sensors are (--layout; in Python give the table transposed)."
        )


def counters(data, vertices):
    """Yield what to say of the vertices that are observed throughout and change by the same step every time."""
    series = data.tensor.reshape(len(data.tensor), -1)
    if 1 not in data.tensor.shape[1:] or series.shape[1] < LONG:
        return
    step = series[:, 1] - series[:, 0]
    some = (step != 0) & near(series[:, 2] - series[:, 1], step) & near(series[:, -1] - series[:, -2], step)
    seen = np.broadcast_to(spread(data.mask), data.tensor.shape).reshape(series.shape)
    for row in np.flatnonzero(some):
        if seen[row].all() and near(np.diff(series[row]), step[row]).all():
            name = row if vertices is None else vertices[row]
            yield (
                f"{str(name)!r} changes by {step[row]:g} at every step, as a count of times does, and is taken for a "
                "sensor: if it is none, leave it out, or call it time."
            )


def repeaters(data, vertices):
    """Yield what to say of the vertices that are observed throughout and have several whole numbers, evenly spaced,
    each as often as the others and no two of them side by side: times of a table with a line a reading."""
    series = data.tensor.reshape(len(data.tensor), -1)
    if 1 not in data.tensor.shape[1:] or series.shape[1] < LONG:
        return
    seen = np.broadcast_to(spread(data.mask), data.tensor.shape).reshape(series.shape)
    first = series[:, :LONG]
    some = (first % 1 == 0).all(axis=1) & (first[:, 1:] != first[:, :-1]).all(axis=1)
    for row in np.flatnonzero(some):
        numbers, times = np.unique(series[row], return_counts=True)
        even = len(numbers) > 2 and len(np.unique(np.diff(numbers))) == 1 and len(np.unique(times)) == 1
        if even and times[0] > 1 and seen[row].all():
            name = row if vertices is None else vertices[row]
            yield (
                f"{str(name)!r} has each of {len(numbers):,} numbers {times[0]:,} times, as times do in a table with a "
                "line a reading: if it is one, say what its columns are (--columns sensor,time,value, - for others)."
            )


def near(steps, step):
    """Whether steps are the step but for rounding."""
    return np.abs(steps - step) <= EVEN * np.abs(step)


def sentinels(data):
    """Yield what to say of the least and the greatest value, where they are far from all others and often the same."""
    values = data.tensor.reshape(len(data.tensor), -1)
    seen = np.broadcast_to(spread(data.mask), data.tensor.shape).reshape(values.shape)
    for value, others, count in extremes(values, seen):
        width = others[1] - others[0]
        if count >= OFTEN and max(others[0] - value, value - others[1]) > FAR * width > 0:
            yield (
                f"{count:,} values are {value:g}, and all others between {others[0]:g} and {others[1]:g}: if that "
                f"stands for missing, say so (--missing-value {value:g}; NaN in Python)."
            )


def extremes(values, seen):
    """[(value, (least, greatest) of all others, how many values it is)] of the least and the greatest of values (N, T)
    where seen (N, T)."""

    def ends(rows):
        some = values[rows][seen[rows]]
        return (some.min(), some.max()) if len(some) else (np.inf, -np.inf)

    low, high = (float(one(part)) for one, part in zip((np.min, np.max), zip(*by_rows(ends, values.shape))))

    def inner(rows):
        some = values[rows][seen[rows]]
        above, below = some[some > low], some[some < high]
        return above.min(initial=np.inf), below.max(initial=-np.inf), len(some) - len(above), len(some) - len(below)

    above, below, lows, highs = zip(*by_rows(inner, values.shape))
    return [(low, (float(min(above)), high), sum(lows)), (high, (low, float(max(below))), sum(highs))]
