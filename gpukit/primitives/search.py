"""Binary search for both devices: the first position where a monotone condition is false. O(log n)."""

import functools

import numpy as np

from gpukit._jit import njit

I64 = np.int64


@functools.cache
def make_partition_point(holds, number=I64):
    """Return partition_point for a compiled condition holds(data, key, position).

    number: integer type of the positions.
    """

    @njit
    def partition_point(data, key, low, high):
        """Return the first position of low:high at which holds(data, key, position) is false, else high.

        The condition must be true before some position and false from it on. data: an array or a tuple that `holds`
        reads; key: sought value; low, high: integers, low <= high, whose sum fits `number`.
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
    """Return values[position] < key."""
    return values[np.uint64(position)] < key


@njit
def is_not_above(values, key, position):
    """Return values[position] <= key."""
    return values[np.uint64(position)] <= key


# (values, key, low, high): first position in ascending values[low:high] with a value >= key; with a value > key.
lower_bound = make_partition_point(is_below)
upper_bound = make_partition_point(is_not_above)
