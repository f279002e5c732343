"""Host steps of the sorting on the CPU; gpu.py has the same functions."""

from typing import NamedTuple

import numpy as np

from gpukit._pool import parallel_map
from gpukit.device.cpu_arrays import empty, fetch
from gpukit.sorting import twins

CACHED = 1 << 16  # keys up to which the buffers of a radix sort are in the cache
TASK = 1 << 12  # keys, in neighbouring segments, that are worth a call of the twin for those before them

__all__ = ["argsort", "empty", "fetch", "first_nan", "plan", "resident"]


def resident(keys):
    """keys as the twins take them."""
    return keys


class PreparedSort(NamedTuple):
    """offsets (m + 1,) int64 of the segments."""

    offsets: np.ndarray


def plan(offsets, dtype, seed=0):
    """The PreparedSort for segments [offsets[s], offsets[s + 1]); dtype and seed change nothing on the CPU."""
    return PreparedSort(np.ascontiguousarray(offsets, np.int64))


def argsort(keys, prepared, order):
    """order (n,) int32 = positions in their segments of the keys (n,), ascending, equal ones by position.

    NaN is not looked for. Integers, and long segments that numpy sorts faster than the twin, are left to it.
    """
    offsets, first = prepared.offsets, 0
    in_runs, scattered = choose_for_numpy(keys, offsets)
    for segment in [*np.sort(np.concatenate([*in_runs, scattered])).tolist(), len(offsets) - 1]:
        if first < segment:
            twins.argsort_segments(keys, offsets[first : segment + 1], order)
        first = segment + 1
    parallel_map(lambda segments: sort_runs(keys, offsets, segments, order), in_runs)
    parallel_map(lambda part: sort_scattered(keys[part], order[part]), [slice(*offsets[k : k + 2]) for k in scattered])


def choose_for_numpy(keys, offsets):
    """Return the segments of long runs, for timsort, in tasks of neighbours; and others that exceed the cache."""
    samples, distance, disorder, golden = 16, 64, 3, (5**0.5 - 1) / 2
    short = 1 << 10  # keys; a call of numpy takes longer than the twin's for fewer
    sizes = np.diff(offsets)
    if keys.dtype.kind != "f":  # the twin compares floats
        return np.array_split(np.arange(len(sizes)), 1 + len(keys) // max(CACHED, short * len(sizes))), np.arange(0)
    segments = np.flatnonzero(sizes >= short)
    sizes = sizes[segments, None]
    shares = np.arange(1, samples + 1) * golden % 1.0  # irregular, unlike the keys
    places = offsets[segments, None] + ((sizes - distance - 1) * shares).astype(np.int64)
    falls = [keys[places + start + distance] < keys[places + start] for start in (0, 1)]  # of runs: mostly alike
    is_in_runs = np.count_nonzero(falls[0] != falls[1], axis=1) <= disorder
    sample = np.sort(keys[places], axis=1)
    is_distinct = (sample[:, 1:] > sample[:, :-1]).all(axis=1)
    in_runs, scattered = segments[is_in_runs], segments[~is_in_runs & is_distinct & (sizes[:, 0] >= CACHED)]
    task = offsets[in_runs] // CACHED
    tasks = np.split(in_runs, np.flatnonzero((np.diff(in_runs) > 1) | (np.diff(task) > 0)) + 1)
    return [task for task in tasks if len(task) and offsets[task[-1] + 1] - offsets[task[0]] >= TASK], scattered


def sort_runs(keys, offsets, segments, order):
    """Set order (n,) for segments of long runs."""
    for begin, end in zip(offsets[segments].tolist(), offsets[segments + 1].tolist()):
        segment = keys[begin:end]
        if not twins.place_run(segment, order[begin:end]):
            order[begin:end] = segment.argsort(kind="stable")
    if keys.dtype.kind == "f":
        last = keys[offsets[segments] + order[offsets[segments + 1] - 1]]
        for segment in segments[np.isnan(last)].tolist():  # which numpy puts last, whatever its sign
            twins.argsort_segments(keys, offsets[segment : segment + 2], order)


def sort_scattered(keys, order):
    """Set order (n,) to the stable argsort of keys (n,) with few ties: numpy's fastest, then equal keys by position."""
    result = keys.argsort()
    ordered = keys[result]
    group = np.append(0, np.cumsum(ordered[1:] != ordered[:-1]))
    is_stable = group[-1] == len(keys) - 1
    order[:] = result if is_stable else np.sort(group << 32 | result) & 0xFFFFFFFF
    if np.isnan(ordered[-1]):
        twins.argsort_segments(keys, np.array([0, len(keys)]), order)


def first_nan(keys):
    """The index of the first NaN of keys (n,); n without one."""
    position = np.array([keys.size], np.int64)
    twins.first_nan(keys, position)
    return int(position[0])
