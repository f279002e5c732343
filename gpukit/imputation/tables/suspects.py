"""What of a table may be no reading: columns that count, labels that do, and a number that stands for missing."""

import numpy as np

from gpukit._pool import by_rows
from gpukit.base.arrays import is_on_gpu
from gpukit.imputation.centering import spread

LONG = 8  # columns, from which on an even rise is no chance
EVEN = 1e-3  # of the step, by which rounding moves it
YEARS = 1500, 2500
OFTEN = 3  # values that are alike
TOLD = 2  # such numbers of series
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
    """Yield what to say of the least and the greatest value, of all series or of some, where they are far from all
    others there and often the same."""
    values = data.tensor.reshape(len(data.tensor), -1)
    seen = np.broadcast_to(spread(data.mask), data.tensor.shape).reshape(values.shape)
    pieces = by_rows(lambda rows: extremes(values[rows], seen[rows]), values.shape)
    ends = [np.concatenate(part) for part in zip(*pieces)]
    advice = "if that stands for missing, say so (--missing-value {0:g}; NaN in Python)."
    told = set()
    for value, others, count in of_all(*ends):
        width = others[1] - others[0]
        if count >= OFTEN and max(others[0] - value, value - others[1]) > FAR * width > 0:
            told.add(value)
            where = f"all others between {others[0]:g} and {others[1]:g}: "
            yield f"{count:,} values are {value:g}, and {where}{advice.format(value)}"
    for value, where in of_some(*ends).items():
        if value not in told:
            count = int(((values == value) & seen).sum())
            yield f"{count:,} values are {value:g}, far from all others in {where}: {advice.format(value)}"


def of_all(low, above, lows, high, below, highs):
    """[(value, (least, greatest) of all others, how many values it is)] of the least and the greatest of all series."""
    least, greatest = float(low.min()), float(high.max())
    inner = float(np.where(low > least, low, above).min()), float(np.where(high < greatest, high, below).max())
    return [
        (least, (inner[0], greatest), int(lows[low == least].sum())),
        (greatest, (least, inner[1]), int(highs[high == greatest].sum())),
    ]


def of_some(low, above, lows, high, below, highs):
    """{value: 'n of N series'} of whole numbers that are far below, or far above, all others of some series."""
    with np.errstate(invalid="ignore"):
        under = (lows >= OFTEN) & (above < high) & (above - low > FAR * (high - above)) & (low % 1 == 0)
        over = (highs >= OFTEN) & (below > low) & (high - below > FAR * (below - low)) & (high % 1 == 0)
    values, counts = np.unique(np.concatenate((low[under], high[over])), return_counts=True)
    most = np.argsort(-counts, kind="stable")[:TOLD]
    return {float(values[at]): f"{counts[at]:,} of {len(low):,} series" for at in most}


def extremes(values, seen):
    """(least, next, count of the least, greatest, next, count of the greatest) of each series, (N,) each, of values
    (N, T) where seen (N, T)."""
    out = []
    for side in (values, -values):
        some = np.where(seen, side, np.inf)
        end = some.min(axis=1, initial=np.inf)
        alike = seen & (some == end[:, None])
        out += [end, np.where(alike, np.inf, some).min(axis=1, initial=np.inf), alike.sum(axis=1)]
    return out[0], out[1], out[2], -out[3], -out[4], out[5]
