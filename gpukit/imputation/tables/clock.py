"""Times as people's tables have them: in any order, repeated, of clocks that are set back in autumn."""

from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import beside

HOUR, DAY = 3600, 86_400  # seconds; what clocks are set back by
NIGHT = 4  # hours after eleven, the range of times to which clocks are set back
APART = 0.5  # of the usual step: over how much of it repeated times are spread


class Clock(NamedTuple):
    """When the columns are.

    at     (T,) float64 seconds since 1970, rising, of the columns in order; None where no times are known, or all are
           one
    order  (T,) int64: the columns as handed in that come first, second, ...; None where they are in order
    notes  [text], what a user should know
    """

    at: object
    order: object
    notes: list

    def forth(self, data):
        """inputs.Data with its columns in order."""
        if self.order is None:
            return data
        tensor, given = self.moved(data.tensor), self.moved(data.given)
        return data._replace(
            tensor=tensor, given=given, mask=data.mask if data.mask.ndim == 1 else self.moved(data.mask)
        )

    def moved(self, array):
        """(N, ...) with its columns in order."""
        return array.reshape(len(array), -1)[:, beside(self.order, array)].reshape(array.shape)

    def back(self, array):
        """(N, ...) in order with its columns as they were handed in."""
        if self.order is None:
            return array
        out = np.empty_like(array).reshape(len(array), -1)
        out[:, beside(self.order, array)] = array.reshape(len(array), -1)
        return out.reshape(array.shape)


def clock_of(times):
    """The Clock of (T,) seconds in the order of the columns, or of None.

    Times that fall once by less than a usual step and an hour, at night, and rise on both sides, are those of a clock
    that was set back: what follows counts as an hour later. Other times are sorted; those that repeat count as half a
    step apart at most, in the order in which they stand.
    """
    if times is None or (len(times) > 1 and (np.asarray(times) == times[0]).all()):
        return Clock(None, None, [])
    at = np.asarray(times, np.float64)
    if (np.diff(at) > 0).all():
        return Clock(at, None, [])
    found = set_back(at)
    if found is not None:
        told = "times fall by an hour at night: the clock was set back there, and what follows is later."
        return Clock(found, None, [told])
    order = np.argsort(at, kind="stable")
    notes = [] if (np.diff(at[order]) > 0).all() else ["times repeat: their columns count as next to each other."]
    order = None if (order == np.arange(len(order))).all() else order
    return Clock(spread(np.sort(at)), order, notes)


def set_back(at):
    """Times with an hour added behind each place where the clock was set back, and taken off again where it was set
    forward later; None where they do not rise then. A time that only repeats does not go back."""
    steps = np.diff(at)
    usual = np.median(steps)
    falls = np.isclose(steps, usual - HOUR) & (steps < 0) & ((at[1:] + HOUR) % DAY < NIGHT * HOUR)
    if usual <= 0 or not falls.any() or (steps <= 0).sum() > falls.sum():
        return None
    later = np.cumsum(np.concatenate(([0], falls)))
    forward = np.isclose(steps, usual + HOUR) & (later[1:] > 0)
    out = at + HOUR * (later - np.cumsum(np.concatenate(([0], forward))))
    return out if (np.diff(out) > 0).all() else None


def spread(at):
    """Sorted times, those that repeat moved apart, up to half the way to the next."""
    values, first, counts = np.unique(at, return_index=True, return_counts=True)
    steps = np.diff(values, append=values[-1] + (np.median(np.diff(values)) if len(values) > 1 else 1.0))
    within = np.arange(len(at)) - np.repeat(first, counts)
    return at + APART * np.repeat(steps / counts, counts) * within
