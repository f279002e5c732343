"""Validate external arrays once, in cached blocks on all cores.

Each check passes silently or raises a DataError with the array's name, the position and the value. The module needs
numpy alone, so that loading a model does not load the compiler.
"""

import numpy as np

from gpukit._pool import parallel_map
from gpukit.errors import DataError

BLOCK = 1 << 17  # numbers that fit in a core's own cache
TASK = 32 * BLOCK  # numbers per thread task


def check_array(name, array, dtypes, shape):
    """Raise DataError unless array has a dtype, shape and C order.

    dtypes: one or a tuple; None in shape accepts any size.
    """
    kinds = dtypes if isinstance(dtypes, tuple) else (dtypes,)
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray) or array.dtype not in kinds:
        wanted = " or ".join(np.dtype(kind).name for kind in kinds)
        raise DataError(f"{name} must be an array of {wanted}; got {_kind_of(array)}.")
    has_shape = array.ndim == len(shape) and all(size in (None, has) for size, has in zip(shape, array.shape))
    if not has_shape:
        wanted = ", ".join("n" if size is None else f"{size}" for size in shape)
        raise DataError(f"{name} must have the shape ({wanted}{',' * (len(shape) == 1)}); it has {array.shape}.")


def _kind_of(array):
    return str(array.dtype) if hasattr(array, "dtype") else type(array).__name__


def check_finite(name, array, most=np.inf):
    """Raise DataError for the first infinite, NaN or too large entry.

    most: largest allowed absolute value.
    """

    def larger_mask(block):
        return None if block.min() >= -most and block.max() <= most else ~(abs(block) <= most)

    place = first_wrong(non_finite_mask if most == np.inf else larger_mask, array)
    if place is not None:
        bound = "" if most == np.inf else f" of at most {most:g} in size"
        raise DataError(f"{name}{list(place)} is {array[place]}; all of it must be finite numbers{bound}.")


def non_finite_mask(block):
    """Return a mask of non-finite entries, or None; for `first_wrong`."""
    return None if -np.inf < block.min() and block.max() < np.inf else ~np.isfinite(block)  # NaN is neither


def check_range(name, array, low, high):
    """Raise DataError for the first entry outside [low, high)."""
    place = first_outside(array, low, high)
    if place is not None:
        raise DataError(f"{name}{list(place)} is {array[place]}, beyond {low:,} to {high - 1:,}.")


def first_outside(array, low, high):
    """Return the index of the first entry outside [low, high), or None."""
    signless = np.dtype(f"u{array.dtype.itemsize}") if low == 0 and array.dtype.kind == "i" else None

    def outside(block):
        if signless:  # unsigned, negative numbers exceed all others: one comparison, not two
            fine = block.view(signless).max() < high
        else:
            fine = block.min() >= low and block.max() < high
        return None if fine else (block < low) | (block >= high)

    return first_wrong(outside, array)


def check_pointers(name, pointers, rows, end):
    """Raise DataError unless pointers (rows + 1,) rise from 0 to `end`."""
    check_array(name, pointers, (np.int32, np.int64), (rows + 1,))
    if pointers[0] != 0 or pointers[-1] != end:
        raise DataError(f"{name} goes from {pointers[0]:,} to {pointers[-1]:,}; it must go from 0 to {end:,}.")
    fall = first_wrong(np.less, pointers[1:], pointers[:-1])
    if fall is not None:
        raise DataError(f"{name}[{fall[0] + 1}] is {pointers[fall[0] + 1]:,}, less than what comes before it.")


def check_ids(name, ids):
    """Raise DataError unless ids are unique int64 or text."""
    if not isinstance(ids, np.ndarray) or ids.ndim != 1 or not (ids.dtype == np.int64 or ids.dtype.kind == "U"):
        shape = f", {ids.ndim}-D" if isinstance(ids, np.ndarray) else ""
        raise DataError(f"{name} must be a one-dimensional array of int64 or text; got {_kind_of(ids)}{shape}.")
    twice = first_repeated(ids)
    if twice is not None:
        raise DataError(f"{name} has {twice} twice; each id stands for one row.")


def first_repeated(ids):
    """Return an id that occurs twice, or None.

    Fast for ascending ids, and for mostly ascending ids with some appended.
    """
    rising = ids[1:] > ids[:-1]
    if rising.all():
        return None
    count = 1 + int(np.argmin(rising))
    ascending, behind = ids[:count], ids[count:]
    known, counts = np.unique(behind, return_counts=True)
    twice = (counts > 1) | (ascending[np.minimum(np.searchsorted(ascending, known), count - 1)] == known)
    return known[np.argmax(twice)] if twice.any() else None


def check_sparse(name, matrix):
    """Raise DataError if a sparse matrix's indices exceed its shape; return True if they were checked.

    scipy's own code relies on them. Matrices on a GPU or made of lists are not checked.
    """
    if not isinstance(getattr(matrix, "data", None), np.ndarray) or len(matrix.shape) != 2:
        return False
    if matrix.format in ("csr", "csc"):
        shape = matrix.shape[:: 1 if matrix.format == "csr" else -1]
        check_compressed(name, matrix.indptr, matrix.indices, matrix.data, shape)
    elif matrix.format == "coo":
        for side, rows, size in zip(("row", "col"), (matrix.row, matrix.col), matrix.shape):
            check_indices(f"{name}.{side}", rows, len(matrix.data), size)
    elif matrix.format == "bsr":
        rows, columns = (size // block for size, block in zip(matrix.shape, matrix.blocksize))
        check_compressed(name, matrix.indptr, matrix.indices, matrix.data, (rows, columns))
    return matrix.format in ("csr", "csc", "coo", "bsr")


def check_compressed(name, pointers, indices, values, shape):
    """Raise DataError unless the arrays are valid compressed rows of that shape.

    pointers, indices, values: indptr, indices, data of scipy's CSR; these may be longer than used. Values may be
    infinite or NaN.
    """
    check_array(f"{name}.indptr", pointers, (np.int32, np.int64), (shape[0] + 1,))
    check_indices(f"{name}.indices", indices, len(values), shape[1])
    end = int(pointers[-1])
    check_pointers(f"{name}.indptr", pointers, shape[0], end if 0 <= end < len(values) else len(values))


def check_indices(name, indices, count, size):
    """Raise DataError unless indices are `count` integers in [0, size)."""
    check_array(name, indices, (np.int32, np.int64), (count,))
    check_range(name, indices, 0, size)


def first_wrong(wrong, *arrays):
    """Return the index (a tuple) of the first wrong entry, or None.

    wrong: function of a block of each array, all of one shape; returns a mask (b,) of wrong entries, or None.
    """
    flat = [array.reshape(-1) for array in arrays]
    size = flat[0].size

    def look(start):
        for index in range(start, min(start + TASK, size), BLOCK):
            bad = wrong(*(value[index : index + BLOCK] for value in flat))
            if bad is not None and bad.any():
                return index + int(np.argmax(bad))
        return None

    result = next((index for index in parallel_map(look, range(0, size, TASK)) if index is not None), None)
    return None if result is None else tuple(map(int, np.unravel_index(result, arrays[0].shape)))
