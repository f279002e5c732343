"""The device's copy of the last basis's vectors: who computes a basis there, or works with it, need not bring it."""

import numpy as np

_kept = {}  # dtype: the copy; "host": the vectors, so that no others take their place in memory


def keep(vectors, there):
    """vectors (N, K) were computed on the device: `there` is a cupy array of the same numbers."""
    _kept.clear()
    _kept.update({"host": vectors, there.dtype: there})


def on_device(vectors, dtype, library):
    """A basis's vectors (N, K) float64 as an array of dtype on the device; library: cupy. One copy is kept at a time,
    the last."""
    dtype = np.dtype(dtype)
    if _kept.get("host") is not vectors:
        _kept.clear()
        _kept["host"] = vectors
    if dtype not in _kept:
        others = [copy for kind, copy in _kept.items() if kind != "host"]
        copy = others[0].astype(dtype) if others else library.asarray(vectors.astype(dtype, copy=False))
        _kept.clear()
        _kept.update({"host": vectors, dtype: copy})
    return _kept[dtype]


def forget():
    """Give the memory back."""
    _kept.clear()
