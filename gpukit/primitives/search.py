"""Bisection, compiled for both devices: where, in an order, what was true ceases to be. O(log n)."""

import functools

import numpy as np

from gpukit._jit import njit

I64 = np.int64


@functools.cache
def make_partition_point(holds, number=I64):
    """partition_point for a compiled question holds(data, key, position), with positions of the type `number`."""

    @njit
    def partition_point(data, key, low, high):
        """Return the first position of low:high at which holds(data, key, position) is false, else high.

        It must be true up to some position and false from there on. data: an array, or a tuple that holds reads;
        key: the key of the search; low, high: integers, low at most high, whose sum `number` can hold.
        """
        low, high = number(low), number(high)
        while low < high:
            middle = number(number(low + high) >> number(1))
            if holds(data, key, middle):
                low = number(middle + number(1))
            else:
                high = middle
        return low

    return partition_point


@njit
def is_below(values, key, position):
    """Whether the value at a position comes before key."""
    return values[np.uint64(position)] < key


@njit
def is_not_above(values, key, position):
    """Whether the value at a position comes before key or equals it."""
    return values[np.uint64(position)] <= key


# (values, key, low, high): the first position of the rising values[low:high] whose value is not below key; is above it.
lower_bound = make_partition_point(is_below)
upper_bound = make_partition_point(is_not_above)
