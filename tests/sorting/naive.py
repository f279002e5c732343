"""Oracle of the sorting: Python's stable sort, segment by segment."""


def argsort(keys, offsets):
    """Return positions within each segment in ascending order of its keys, one list; equal keys by position."""
    order = []
    for begin, end in zip(offsets[:-1], offsets[1:], strict=True):
        values = [float(key) for key in keys[begin:end]]
        order += sorted(range(len(values)), key=values.__getitem__)
    return order
