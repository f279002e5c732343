"""A long table again, filled in: its lines as they were, and one for each time of each sensor that had none.

Lines are added for every pair of a time and a sensor that the table, or the graph, knows. Where the table runs by time,
and at each time by sensor (as they are sorted, or as they first appear), they stand at their place; where it runs by
time alone, they follow the other lines of their time; where it runs sensor by sensor and each by time, they
stand at their time among the sensor's; in a table of no such order they come last, by time. What another column says of
all lines of a sensor, or else of all lines of a time, is said in added ones too; else they leave it empty.
"""

import numpy as np

from gpukit.graphs.column_types import is_converted, type_of_column


def completed_frame(long, completed, observed, written):
    """The pandas DataFrame of a Long (its columns 0 to C-1) with what is missing filled in, and lines added.

    completed, observed (N, T): by long.ids and long.moments. written: written((n,) numbers) -> what cells of them hold.
    """
    vertices, times = np.nonzero(~present(long))
    frame = long.frame.astype({long.roles.value: object})
    cells = frame[long.roles.value].to_numpy(copy=True)
    lacking = ~observed[long.vertex, long.time]
    cells[lacking] = written(completed[long.vertex, long.time][lacking])
    more = added(long, vertices, times)
    values = np.concatenate([cells, np.array(written(completed[vertices, times]), dtype=object)])
    more[long.roles.value] = values
    return more.take(placed(long, vertices, times)).reset_index(drop=True)


def completed_as(long, completed, observed):
    """completed_frame of a frame's Long whose values come back in their dtype, see column_types.is_converted."""
    import pandas

    column = long.frame[long.roles.value]
    one = type_of_column(column)
    out = completed_frame(long, completed, observed, lambda numbers: one.cast(np.asarray(numbers)).tolist())
    out = out.infer_objects()
    cells = out[long.roles.value]
    dtype = np.float64 if is_converted(column) else column.dtype
    out[long.roles.value] = pandas.Series(cells.tolist(), cells.index, dtype=dtype)
    return out


def present(long):
    """(N, T) bool: the pairs that have a line."""
    there = np.zeros((len(long.ids), len(long.moments)), bool)
    there[long.vertex, long.time] = True
    return there


def added(long, vertices, times):
    """A DataFrame of the lines and, below them, of those that are added, without their values."""
    import pandas

    columns = {}
    by_vertex, by_time = firsts(long.vertex, len(long.ids)), firsts(long.time, len(long.moments))
    for name in long.frame.columns:
        column = long.frame[name]
        if name == long.roles.sensor:
            tail = filled_in(column, by_vertex[vertices], [str(one) for one in long.ids[vertices].tolist()])
        elif name in long.roles.time:
            tail = column.take(by_time[times])
        elif name != long.roles.value and len(vertices):
            tail = told(column, long, by_vertex[vertices], by_time[times])
        else:
            tail = column.iloc[:0].reindex(range(len(vertices)))
        columns[name] = joined(pandas, column, tail)
    return pandas.DataFrame(columns)


def joined(pandas, column, tail):
    """Two Series one below the other."""
    if not len(tail):
        return column.reset_index(drop=True)
    return pandas.concat([column, tail], ignore_index=True)


def firsts(places, count):
    """(count,) the first line of each, -1 where there is none."""
    out = np.full(count, -1, np.int64)
    out[places[::-1]] = np.arange(len(places))[::-1]
    return out


def filled_in(column, rows, others):
    """The cells of a column at rows, and `others` where a row is -1."""
    import pandas

    cells = column.take(np.maximum(rows, 0)).reset_index(drop=True)
    if (rows < 0).any():
        words = pandas.Series(others)
        if column.dtype.kind in "iuf":
            words = pandas.to_numeric(words)
        cells = cells.where(pandas.Series(rows >= 0), words)
    return cells


def told(column, long, of_vertex, of_time):
    """What a column says in added lines: what it says of all lines of the sensor, or else of the time; else nothing."""
    import pandas

    codes, _ = pandas.factorize(column)
    for places, rows in ((long.vertex, of_vertex), (long.time, of_time)):
        first = firsts(places, int(places.max()) + 1)
        if (codes == codes[first[places]]).all():
            return column.take(np.maximum(rows, 0)).reset_index(drop=True).where(pandas.Series(rows >= 0))
    return column.iloc[:0].reindex(range(len(of_vertex)))


def placed(long, vertices, times):
    """The order in which lines and added ones are written."""
    vertex, time = np.concatenate([long.vertex, vertices]), np.concatenate([long.time, times])
    later = np.arange(len(vertex)) >= len(long.vertex)
    seen = firsts(long.vertex, len(long.ids))
    rank = ranks(np.where(seen < 0, len(long.vertex), seen))
    for order in (ranks(long.ids), rank):
        if rises(long.time * len(order) + order[long.vertex]):
            return np.lexsort((order[vertex], time))
    if rises(long.time):
        return np.lexsort((vertex * later, later, time))
    if rises(rank[long.vertex] * len(long.moments) + long.time):
        return np.lexsort((later, time, rank[vertex]))
    return np.concatenate([np.arange(len(long.vertex)), len(long.vertex) + np.lexsort((vertices, times))])


def ranks(keys):
    """(n,) the place of each key among the sorted ones."""
    return np.argsort(np.argsort(keys, kind="stable"))


def rises(keys):
    """Whether no key is less than the one before it."""
    return bool((np.diff(keys) >= 0).all())
