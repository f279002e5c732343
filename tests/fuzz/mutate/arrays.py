"""Mutators of arrays: values, shapes, dtypes, order, repeats; named arrays."""

import numpy as np

from fuzz.mutate.values import number

DTYPES = (
    "f2",
    "f4",
    "f8",
    "i1",
    "i4",
    "i8",
    "u1",
    "u4",
    "u8",
    "?",
    "c8",
    "U3",
    "S3",
    "M8[s]",
    ">f4",
    ">i4",
    "O",
    "f4,i4",
)


def set_values(array, rng):
    """Replace one value, or a few, by invalid ones."""
    out = array.copy().reshape(-1)
    if out.size and out.dtype.kind in "fiubUS":
        for _ in range(int(rng.choice([1, 1, 3]))):
            out[rng.integers(out.size)] = number(
                rng, out.dtype, int(rng.choice([out.size, len(array) if array.ndim else 1]))
            )
    return out.reshape(array.shape)


def fill(array, rng):
    """Fill with one invalid value: repeated ids, all NaN."""
    return np.full_like(array, number(rng, array.dtype, array.size)) if array.dtype.kind in "fiubUS" else array


def repeat(array, rng):
    """Repeat a value in another place."""
    out = array.copy().reshape(-1)
    if out.size:
        a, b = rng.integers(out.size, size=2)
        out[a] = out[b]
    return out.reshape(array.shape)


def swap(array, rng):
    """Exchange two rows: ids that do not ascend, decreasing pointers."""
    out = np.atleast_1d(array.copy())
    if len(out):
        a, b = rng.integers(len(out), size=2)
        out[[a, b]] = out[[b, a]]
    return out.reshape(array.shape)


def backwards(array, rng):
    """Reverse the order."""
    return np.ascontiguousarray(array[::-1]) if array.ndim else array


def shift(array, rng):
    """Increase or decrease every number by one."""
    return array + array.dtype.type(rng.choice([-1, 1, 7])) if array.dtype.kind in "fi" else array


def shorter(array, rng):
    """Fewer rows."""
    return array[: int(rng.integers(len(array)))] if array.ndim and len(array) else array


def longer(array, rng):
    """More rows."""
    return np.concatenate((array, array[: int(rng.integers(1, 4))])) if array.ndim and len(array) else array


def narrower(array, rng):
    """Fewer, or more, columns."""
    if array.ndim < 2 or not array.shape[-1]:
        return shorter(array, rng)
    return array[..., :-1].copy() if rng.random() < 0.5 else np.concatenate((array, array[..., :1]), axis=-1)


def reshape(array, rng):
    """Change the shape: another axis, flat, transposed, without axes, empty."""
    made = (
        lambda: array[None],
        lambda: array[..., None],
        lambda: array.ravel(),
        lambda: np.asfortranarray(array) if array.ndim > 1 else array,
        lambda: np.ascontiguousarray(array.T),
        lambda: array.ravel()[0] if array.size else array,
        lambda: array[:0],
        lambda: np.zeros((0, 3), array.dtype),
        lambda: np.zeros((3, 0), array.dtype),
    )[rng.integers(9)]
    try:
        return np.asarray(made())
    except IndexError:
        return array


def single(array, rng):
    """Return one number of it, without axes."""
    flat = array.ravel()
    return np.array(flat[int(rng.integers(flat.size))], array.dtype) if flat.size else array


def dtype(array, rng):
    """Another dtype."""
    kind = np.dtype(DTYPES[rng.integers(len(DTYPES))])
    try:
        with np.errstate(all="ignore"):
            return array.astype(kind)
    except (TypeError, ValueError, OverflowError):
        return np.zeros(array.shape, kind)


ARRAY = (
    set_values,
    set_values,
    set_values,
    fill,
    repeat,
    swap,
    backwards,
    shift,
    shorter,
    longer,
    narrower,
    reshape,
    single,
    dtype,
)


def one(array, rng):
    """An array mutated once."""
    return ARRAY[rng.integers(len(ARRAY))](np.asarray(array), rng)


def among(arrays, rng):
    """Return {name: array} with one of them mutated, omitted, renamed, or one added."""
    arrays = dict(arrays)
    name = list(arrays)[rng.integers(len(arrays))]
    draw = rng.random()
    if draw < 0.85:
        arrays[name] = one(arrays[name], rng)
    elif draw < 0.91:
        del arrays[name]
    elif draw < 0.94:
        arrays[f"{name}_"] = arrays.pop(name)
    elif draw < 0.97:
        arrays["extra"] = np.arange(3)
    else:
        other = list(arrays)[rng.integers(len(arrays))]
        arrays[name], arrays[other] = arrays[other], arrays[name]
    return arrays


def consistent(arrays, rng):
    """Return {name: array} with all of one length truncated to the same shorter one."""
    lengths = sorted({len(array) for array in arrays.values() if np.ndim(array)})
    length = lengths[rng.integers(len(lengths))]
    less = int(rng.integers(length + 1))
    return {name: array[:less] if np.ndim(array) and len(array) == length else array for name, array in arrays.items()}
