"""Times of tables: in any order, repeated, or set back in autumn."""

from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import place_like
from gpukit.imputation.periods import DAY, HOUR


class Clock(NamedTuple):
    """Times and order of the columns.

    at     (T,) float64 seconds since 1970, rising, of the sorted columns; None if no times are known, or all are equal
    order  (T,) int64: positions of the sorted columns in the user's order; None if they are sorted
    notes  [text], messages for the user
    """

    at: object
    order: object
    notes: list

    def forth(self, data):
        """Return inputs.Data with sorted columns."""
        if self.order is None:
            return data
        tensor, original = self.moved(data.tensor), self.moved(data.given)
        return data._replace(
            tensor=tensor, given=original, mask=data.mask if data.mask.ndim == 1 else self.moved(data.mask)
        )

    def moved(self, array):
        """Return an array (N, ...) with sorted columns."""
        return array.reshape(len(array), -1)[:, place_like(self.order, array)].reshape(array.shape)

    def back(self, array):
        """Return an array (N, ...) of sorted columns in the user's order."""
        if self.order is None:
            return array
        out = np.empty_like(array).reshape(len(array), -1)
        out[:, place_like(self.order, array)] = array.reshape(len(array), -1)
        return out.reshape(array.shape)


def clock_of(times):
    """Return the Clock of times (T,) in seconds, or of None.

    Times are in the order of the columns. A clock was set back if times fall once by less than a usual step and an
    hour, at night, and rise before and after; later times then get an hour more. Other times are sorted. Repeated ones
    are moved apart, by at most half a step, in their order.
    """
    if times is None or (len(times) > 1 and (np.asarray(times) == times[0]).all()):
        return Clock(None, None, [])
    seconds = np.asarray(times, np.float64)
    if (np.diff(seconds) > 0).all():
        return Clock(seconds, None, [])
    result = correct_set_back(seconds)
    if result is not None:
        note = "times fall by an hour at night: the clock was set back there, and what follows is later."
        return Clock(result, None, [note])
    order = np.argsort(seconds, kind="stable")
    notes = [] if (np.diff(seconds[order]) > 0).all() else ["times repeat: their columns count as next to each other."]
    order = None if (order == np.arange(len(order))).all() else order
    return Clock(spread(np.sort(seconds)), order, notes)


def correct_set_back(times):
    """Add hours to times after a clock was set back.

    An added hour is removed where the clock was set forward later. None if the times do not rise then. A repeated time
    is not a clock that was set back.
    """
    steps = np.diff(times)
    usual, latest = np.median(steps), 4 * HOUR  # at which clocks are set back; test
    falls = np.isclose(steps, usual - HOUR) & (steps < 0) & ((times[1:] + HOUR) % DAY < latest)
    if usual <= 0 or not falls.any() or (steps <= 0).sum() > falls.sum():
        return None
    later = np.cumsum(np.concatenate(([0], falls)))
    forward = np.isclose(steps, usual + HOUR) & (later[1:] > 0)
    out = times + HOUR * (later - np.cumsum(np.concatenate(([0], forward))))
    return out if (np.diff(out) > 0).all() else None


def spread(times):
    """Return sorted times with repeated ones moved apart.

    They are moved up to half a step.
    """
    values, first, counts = np.unique(times, return_index=True, return_counts=True)
    steps = np.diff(values, append=values[-1] + (np.median(np.diff(values)) if len(values) > 1 else 1.0))
    within = np.arange(len(times)) - np.repeat(first, counts)
    return times + 0.5 * np.repeat(steps / counts, counts) * within
