"""Convert arrays of other libraries to numpy and align rows by label.

Supported are pandas (nullable types too), masked arrays and arrays on a GPU. pandas is not imported here: callers that
pass a data frame have imported it.
"""

import functools
import numbers as abstract
import sys
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from gpukit._pool import map_row_blocks
from gpukit.errors import DataError

EXACT = 2**53  # float64 represents all whole numbers up to it
NUMBERS = (abstract.Real, Decimal, np.bool_)


def as_plain(values):
    """Return values as numpy or scipy objects; others (lists, None) unchanged.

    A pandas frame or column of numbers becomes an array, missing values NaN; so does a masked array. An array on a GPU
    (__cuda_array_interface__, as cupy's, torch's and numba's have) is copied to the host.
    """
    if isinstance(values, np.ma.MaskedArray):
        return fill_masked(values)
    if hasattr(values, "iloc") or hasattr(values, "_from_sequence"):
        return from_pandas(values)
    if getattr(getattr(values, "dtype", None), "kind", "") == "T":
        return fixed_width(values)
    if hasattr(values, "__cuda_array_interface__"):
        return to_host(values)
    if not hasattr(values, "__array__") and hasattr(values, "__dlpack_device__"):
        return from_dlpack(values)
    return values


class Resident(NamedTuple):
    """Array on a GPU, not copied; given: any object with __cuda_array_interface__."""

    given: object

    @property
    def shape(self):
        """Shape of the array."""
        return tuple(self.given.__cuda_array_interface__["shape"])

    @property
    def size(self):
        """Number of entries."""
        return int(np.prod(self.shape))

    @property
    def dtype(self):
        """numpy dtype of the array."""
        return np.dtype(self.given.__cuda_array_interface__["typestr"])

    @property
    def is_contiguous(self):
        """True if the array is C-contiguous."""
        return self.given.__cuda_array_interface__.get("strides") is None

    def is_plain(self, axes, dtypes):
        """Return True if kernels can read the array directly.

        It has `axes` axes, one of `dtypes`, and is C-contiguous.
        """
        return len(self.shape) == axes and self.is_contiguous and self.dtype in dtypes

    @property
    def gpu(self):
        """Number of the array's GPU.

        The current GPU if the array does not report its device.
        """
        from gpukit._cuda import cuda

        if hasattr(self.given, "__dlpack_device__"):
            return int(self.given.__dlpack_device__()[1])
        return int(cuda.get_current_device().id)

    def view(self):
        """Return the array as numba's device array, after synchronizing all streams."""
        from gpukit._cuda import cuda

        cuda.synchronize()
        return device_view(self.given)


def is_on_gpu(array):
    """Return True for an array on a GPU, of any library."""
    return hasattr(array, "__cuda_array_interface__")


def device_view(array):
    """Return numba's view of an array on a GPU."""
    from gpukit._cuda import cuda

    return cuda.as_cuda_array(array)


def as_resident(values):
    """Return the Resident of an array on a GPU, else None."""
    return Resident(values) if is_on_gpu(values) else None


def as_array(values, what, dtype=None):
    """Return values as a numpy array, see `keep_objects`.

    Raises DataError with the name `what` for invalid input (lists of unequal lengths).
    """
    try:
        array = np.asarray(as_plain(values), dtype=dtype)
        return keep_objects(values, array) if dtype is None else array
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} is no array ({error}).") from error


def keep_objects(values, array):
    """Return numpy's array of values; of objects if it changed objects of a list into text.

    It writes other objects as text (NaN, 1), and drops zero bytes at the end of a text.
    """
    if array.dtype.kind not in "US" or not array.ndim or not isinstance(values, list | tuple):
        return array
    objects = np.array(values, object)
    are_texts = all(issubclass(kind, str | bytes) for kind in {*map(type, objects.flat)})
    is_same = are_texts and sum(map(len, objects.flat)) == np.char.str_len(array).sum()
    return array if is_same else objects


def as_numbers(name, values):
    """Return values as an array of real numbers.

    Integers, booleans and floats keep their dtype; objects and longer floats become float64. Raises DataError for text,
    dates, durations, complex numbers and records, which numpy would convert silently.
    """
    values = as_array(values, name)
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        return _narrow(name, values)
    if values.dtype.kind in "biuf":
        return values
    needed = f"{name} must {'hold' if values.ndim > 1 else 'be'} numbers"
    if values.dtype.kind == "c":
        raise DataError(
            f"Complex data not supported: {name} holds complex numbers ({values.dtype}). Give real and imaginary parts "
            "apart."
        )
    if values.dtype.kind != "O":
        raise DataError(f"{needed}; got {values.dtype}. Convert or encode them first.")
    wrong = next((index for index, value in np.ndenumerate(values) if not isinstance(value, NUMBERS)), None)
    if wrong is not None:
        place = ", ".join(map(str, wrong))
        raise DataError(f"{needed}: {name}[{place}] is {values[wrong]!r:.80}. Convert or leave it out.")
    whole = all(isinstance(value, abstract.Integral) and abs(value) < 2**63 for value in values.flat)
    try:
        return values.astype(np.int64 if whole else np.float64)
    except OverflowError:
        raise too_large(name) from None


def too_large(name):
    """Return the DataError of numbers beyond float64."""
    return DataError(f"{name} holds a number that is larger than float64 holds. Scale them.")


def _narrow(name, values):
    """Convert longer floats to float64; DataError if one becomes infinite."""
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float64)
    if (np.isinf(narrow) & np.isfinite(values)).any():
        raise too_large(name)
    return narrow


def as_labels(name, values):
    """Return relevance labels as float64, or int64 for whole labels beyond 2^53.

    float64 would merge such labels. Raises DataError as as_numbers does, and for unsigned labels that fit neither
    dtype.
    """
    values, original = as_numbers(name, values), values
    if values.dtype.kind == "f":
        check_whole(name, original)
    if values.dtype.kind not in "iu" or not values.size or -EXACT <= values.min() <= values.max() <= EXACT:
        return values.astype(np.float64, copy=False)
    check_whole(name, values.max(keepdims=True).astype(object))
    return values.astype(np.int64, copy=False)


def check_whole(name, values):
    """Raise DataError for whole labels in object arrays that are beyond int64, or that float64 rounds to one number."""
    values = [] if hasattr(values, "dtype") and values.dtype != object else np.ravel(np.asarray(values, object))
    whole = [value for value in values if isinstance(value, abstract.Integral) and abs(value) >= EXACT]
    for value in whole:
        if not -(2**63) <= value < 2**63:
            raise DataError(f"{name} holds {value}: whole labels are at most 2^63 - 1. Rank or scale them.")
    check_distinct(name, whole)


def check_distinct(name, labels):
    """Raise DataError for two different whole labels, as int, that are one number of float64."""
    numbers = {}
    for label in labels:
        other = numbers.setdefault(float(label), label)
        if other != label:
            raise DataError(f"{name}: labels {other} and {label} are one number in float64. Rank or scale them.")


def to_ordered_floats(values):
    """Return numbers as float64; distinct integers stay distinct and ordered.

    Integers beyond 2^53 become increasing float64 numbers.
    """
    if values.dtype.kind not in "iu" or not values.size or -EXACT <= values.min() <= values.max() <= EXACT:
        return values.astype(np.float64, copy=False)
    different, which = np.unique(values, return_inverse=True)
    bits = different.astype(np.float64).view(np.int64)
    keys = np.where(bits < 0, np.int64(-(2**63)) - bits, bits)  # ascending with the numbers
    steps = np.arange(len(keys))
    keys = np.maximum.accumulate(keys - steps) + steps
    bits = np.where(keys < 0, np.int64(-(2**63)) - keys, keys)
    return bits.view(np.float64)[which].reshape(values.shape)


def axes(values):
    """Return the number of axes; 0 if not an array."""
    try:
        return np.ndim(values)
    except ValueError:
        return 0


def as_text(array):
    """Return an array as text; invalid UTF-8 bytes become replacement characters.

    Raises DataError for a text that ends in a zero byte, which numpy would drop.
    """
    if array.dtype.kind == "V":
        raise DataError(f"an array of {array.dtype} is no text.")
    if array.dtype.kind == "O":
        ended = next((value for value in array.flat if isinstance(value, str) and value.endswith("\0")), None)
        if ended is not None:
            raise DataError(f"{ended!r:.80} ends in a byte of 0, which no text holds. Take it away.")
    return np.char.decode(array, "utf-8", "replace") if array.dtype.kind == "S" else array.astype(str)


def fixed_width(array):
    """Return an array of numpy's StringDType as fixed-width text, or as objects if texts are missing."""
    objects = array.astype(object)
    return as_text(objects) if all(isinstance(text, str) for text in objects.flat) else objects


def fill_masked(array):
    """Return a masked array with NaN where masked; integers then become float64."""
    if not np.ma.is_masked(array):
        return np.asarray(array.data)
    return array.astype(np.result_type(array.dtype, np.float32)).filled(np.nan)


def from_pandas(values):
    """Return the array of a pandas object; nullable numbers become plain ones.

    values: a frame, a column, an index or an extension array.
    """
    if hasattr(values, "columns"):
        return frame_numbers(values)
    kind = getattr(values.dtype, "numpy_dtype", None)
    if kind is None or kind.kind not in "biuf":
        return np.asarray(values)
    if not values.isna().any():
        return values.to_numpy(dtype=kind)
    return values.to_numpy(dtype=np.result_type(kind, np.float32), na_value=np.nan)


def frame_numbers(frame):
    """Return the (rows, columns) array of a frame.

    Nullable numbers become plain ones, NaN where missing.
    """
    kinds = [getattr(dtype, "numpy_dtype", dtype) for dtype in frame.dtypes]
    if not any(hasattr(dtype, "numpy_dtype") for dtype in frame.dtypes):
        return np.asarray(frame)
    if not all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in kinds):
        return np.asarray(frame)
    return frame.to_numpy(dtype=np.result_type(np.float32, *kinds), na_value=np.nan)


def to_host(values):
    """Copy an array on a GPU to the host."""
    if hasattr(values, "get"):  # cupy
        return values.get()
    if hasattr(values, "cpu"):  # torch
        return values.cpu().numpy()
    from gpukit._cuda import cuda

    return cuda.as_cuda_array(values).copy_to_host()


def ensure_host(array):
    """Return an array on the host; copies from a GPU."""
    return to_host(array) if is_on_gpu(array) else array


def from_dlpack(values):
    """Return a DLPack object in main memory as a numpy array; DataError for one on a GPU."""
    main_memory = 1  # kDLCPU
    if values.__dlpack_device__()[0] != main_memory:
        raise DataError(
            f"the {type(values).__name__} is on a GPU and has DLPack alone. Convert it first: cupy.from_dlpack(...)."
        )
    return np.from_dlpack(values)


def placer(values):
    """Return a function that moves numpy arrays to the GPU of values.

    The library is cupy, torch or numba; arrays already on the GPU are not copied. None for values on the host or of
    another library.
    """
    if not is_on_gpu(values):
        return None
    name = type(values).__module__.partition(".")[0]
    library = sys.modules.get(name)
    if name == "torch":
        return lambda array: library.as_tensor(
            array if is_on_gpu(array) else np.ascontiguousarray(array), device=values.device
        )
    if name == "cupy":
        return functools.partial(to_cupy, library, values.device)
    return to_numba if name == "numba" else None


def to_cupy(cupy, device, array):
    """Return a numpy array as cupy's on a cupy device."""
    with device:
        return cupy.asarray(array)


def to_numba(array):
    """Return an array as numba's on the current GPU."""
    from gpukit._cuda import cuda

    return device_view(array) if is_on_gpu(array) else cuda.to_device(np.ascontiguousarray(array))


def labels(values):
    """Return the index of a pandas frame or column, else None."""
    return values.index if hasattr(values, "iloc") else None


def align_rows(**named):
    """Return the named values as a list with pandas rows aligned.

    Rows are in the order of the first pandas object. Arrays without labels are aligned by position and unchanged.
    Raises DataError if two indices have different labels.
    """
    first = next((name for name, values in named.items() if labels(values) is not None), None)
    if first is None:
        return list(named.values())
    order = labels(named[first])
    return [
        values if labels(values) is None else reorder_by_label(values, name, order, first)
        for name, values in named.items()
    ]


def reorder_by_label(values, name, order, first):
    """Return values (a frame or column called name) in the order of an index.

    first: name of the object with that index.
    """
    index = values.index
    if index.equals(order):
        return values
    places = index.get_indexer(order) if index.is_unique and order.is_unique else np.array([-1])
    if len(index) != len(order) or (places < 0).any():
        raise DataError(f"{differ(index, name, order, first)}. Give both one index, or go by position: .to_numpy().")
    return values.iloc[places]


def differ(own_labels, name, order, first):
    """Return the difference of two indices, in words."""
    for index, whose in ((order, first), (own_labels, name)):
        if not index.is_unique:
            twice = index[index.duplicated()].tolist()[0]
            return f"the labels (index) of {name} and {first} differ, and {whose} has {twice!r} more than once"
    unmatched, whose, other = order.difference(own_labels), first, name
    if not len(unmatched):
        unmatched, whose, other = own_labels.difference(order), name, first
    return (
        f"the labels (index) of {name} are not those of {first}: {whose} has {unmatched.tolist()[0]!r}, {other} has not"
    )


def cast(array, dtype):
    """Return a copy of an array (n, ...) in another dtype that holds its values, made on all cores."""
    out = np.empty(array.shape, dtype)
    map_row_blocks(lambda rows: np.copyto(out[rows], array[rows], casting="unsafe"), (len(array), 1))
    return out
