"""`segmented_argsort`: the sort as a public function, its input checked; rooms call gpu.py and cpu.py themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit import device as devices
from gpukit.base.arrays import as_array, device_view, is_on_gpu, to_ordered_floats
from gpukit.errors import DataError, ParameterError

if TYPE_CHECKING:
    from gpukit.typing import ArrayLike, DeviceLike, GpuArray

MOST = 1 << 31  # limit of the segments, and of the keys of one: both are counted in int32


def segmented_argsort(
    keys: ArrayLike | GpuArray, offsets: ArrayLike | GpuArray, *, device: DeviceLike = "auto", seed: int = 0
) -> Any:
    """Return the order that sorts the keys of each segment.

    Linear RankSVM's Algorithm 3: GPU quicksort of many sequences in one launch.

    Parameters
    ----------
    keys : array (n,), float32, float64 or integers
        Integers are sorted exactly, also above 2^53. Arrays on a GPU have __cuda_array_interface__ and are float32 or
        float64.
    offsets : array (m + 1,) of integers
        Ascending from 0 to n. Segment s is keys[offsets[s]:offsets[s + 1]] and may be empty.
    device : {'auto', 'cpu', 'cuda', 'cuda:N'}
        'auto' is the GPU that holds the keys, or else the first one.
    seed : int
        Seed of the random pivots on a GPU. The result does not depend on it.

    Returns
    -------
    order : array (n,) int32
        order[offsets[s] + r] is the position in segment s of its r-th smallest key. Equal keys, such as -0 and 0, keep
        their order. A numpy array, or an array on the GPU if the keys are there.

    Raises
    ------
    DataError
        Invalid keys or offsets; the message names the first NaN.
    ParameterError
        device 'cpu' with keys on a GPU.
    DeviceError
        The requested GPU does not exist.

    Examples
    --------
    >>> segmented_argsort([3.0, 1.0, 2.0, 5.0, 4.0], [0, 3, 5], device="cpu")
    array([1, 2, 0, 1, 0], dtype=int32)
    """
    on_gpu = is_on_gpu(keys)
    if on_gpu and str(device) == "cpu":
        raise ParameterError("the keys are on a GPU, but device is 'cpu': leave device out, or copy them to the host.")
    place = devices.resolve("cuda" if on_gpu and device == "auto" else device)
    keys = device_keys(keys) if on_gpu else host_keys(keys)
    offsets = check_offsets(offsets, len(keys))
    steps = devices.engine(place, "gpukit.sorting")
    with devices.translate_memory_errors(place, f"sorting {len(keys)} keys"):
        order = argsort(steps, keys, offsets, seed)
        return order if on_gpu else steps.fetch(order)


def argsort(steps, keys, offsets, seed):
    """Return the order of keys (n,) float32 or float64, an array on the device of the steps; DataError for a NaN."""
    keys = steps.resident(keys)
    if (index := steps.first_nan(keys)) < len(keys):
        raise DataError(f"keys[{index}] is NaN, which has no place in an order: remove it or put a number there.")
    order = steps.empty(len(keys), np.int32)
    steps.argsort(keys, steps.plan(offsets, keys.dtype, seed), order)
    return order


def require_row(array, what):
    """Raise DataError unless the array has one dimension."""
    if array.ndim != 1:
        raise DataError(f"{what} must have one dimension; the shape is {tuple(array.shape)}.")


def host_keys(keys):
    """Return keys as a contiguous numpy array of float32 or float64 in the same order, see `to_ordered_floats`."""
    keys = as_array(keys, "keys")
    require_row(keys, "keys")
    if keys.dtype.kind in "iub":
        return np.ascontiguousarray(to_ordered_floats(keys))
    if keys.dtype.kind != "f" or keys.dtype.itemsize > 8:
        raise DataError(f"keys must be float32, float64 or integers; they are {keys.dtype}.")
    return np.ascontiguousarray(keys, np.float32 if keys.dtype.itemsize <= 4 else np.float64)


def device_keys(keys):
    """keys as a contiguous device array; float32 or float64 as they are."""
    keys = device_view(keys)
    require_row(keys, "keys")
    if keys.dtype not in (np.float32, np.float64):
        raise DataError(f"keys on a GPU must be float32 or float64; they are {keys.dtype}: convert them first.")
    if not keys.is_c_contiguous():
        raise DataError("keys on a GPU must be contiguous: copy them first.")
    return keys


def check_offsets(offsets, n):
    """offsets as an int64 numpy array that begins at 0, never falls and ends at n."""
    offsets = as_array(device_view(offsets).copy_to_host() if is_on_gpu(offsets) else offsets, "offsets")
    require_row(offsets, "offsets")
    if offsets.dtype.kind not in "iu":
        raise DataError(f"offsets must be integers; they are {offsets.dtype}.")
    if len(offsets) > MOST:
        raise DataError(
            f"{len(offsets) - 1:,} segments are too many: their numbers are int32, so at most {MOST - 1:,}."
        )
    offsets = offsets.astype(np.int64)
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != n:
        ends = f"{offsets[0]} to {offsets[-1]}" if len(offsets) else "nothing"
        raise DataError(f"offsets must go from 0 to the number of keys, {n}; they go from {ends}.")
    sizes = np.diff(offsets)
    if (sizes < 0).any():
        segment = int(np.argmax(sizes < 0))
        raise DataError(
            f"offsets must not fall; offsets[{segment + 1}] = {offsets[segment + 1]} is below {offsets[segment]}."
        )
    if len(sizes) and sizes.max() >= MOST:
        raise DataError(f"a segment of {sizes.max()} keys is too long: positions are int32, so at most 2**31 - 1.")
    return offsets
