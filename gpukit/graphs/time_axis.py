"""Times of the columns of a tensor, in an array of an archive or in a file of their own."""

import numpy as np

from gpukit.base.arrays import as_array
from gpukit.errors import DataError
from gpukit.graphs import moments
from gpukit.io import archives, sources
from gpukit.io.times import as_seconds
from gpukit.io.words import decoded, shown

NEEDED = "times, one a line, or an .npy of them"


def check_times(times, path):
    """Return times of a file; DataError where two are equal as whole seconds, or one is no time. None stays None."""
    if times is None:
        return None
    times = as_array(times, f"{path}: times")
    seconds = as_seconds(times.ravel(), f"{path}: times")
    values, first, count = np.unique(seconds, return_index=True, return_counts=True)
    if (count > 1).any():
        place = int(first[np.argmax(count > 1)])
        again = place + 1 + int(np.flatnonzero(seconds[place + 1 :] == seconds[place])[0])
        value, same = (shown(str(times.flat[at])) for at in (place, again))
        raise DataError(
            f"{path}: times: entries {place + 1:,} and {again + 1:,} are the same second, {value} and {same}. Give "
            "each column a time of its own, as whole seconds or dates."
        )
    return times


def read_times(path):
    """Read the times of the columns of a tensor from a text, one a line below a header or none, or from an .npy.

    path: a file's name, or '-'. Returns numbers or int64 seconds, checked. Raises DataError for other files, for what
    is no time, and for times that repeat.
    """
    with sources.opened(path, NEEDED) as source:
        if source.head.startswith(archives.NPY):
            return check_times(archives.read_npy(source), source.name)
        if source.holds_arrays():
            raise DataError(f"{source.name} is an .npz; --times takes {NEEDED}. An .npz keeps them as its array times.")
        stream = source.stream()
        stream.text_head()
        words = [word.strip(' \t"') for word in decoded(stream.whole()).lstrip("\ufeff").splitlines() if word.strip()]
    if len(words) > 1 and moments.seconds(words[:1]) is None and moments.seconds(words[1:]) is not None:
        words = words[1:]
    seconds = moments.seconds(words) if words else None
    if seconds is None:
        bad = next((at for at, word in enumerate(words) if moments.seconds([word]) is None), 0)
        what = f"line {bad + 1:,} is {shown(words[bad])}" if words else "it is empty"
        raise DataError(f"{path} has no times in one spelling: {what}. Give {NEEDED}: seconds or dates.")
    return check_times(seconds, path)
