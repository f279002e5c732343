"""The only `from numba import njit`: compiled code is cached on disk under a key made of gpukit's own sources.

numba's own cache looks at the file of a function alone, so it serves stale code after a helper in another file changes.
Here every source of the package and the versions of the compilers go into the folder's name.
"""

import contextlib
import functools
import hashlib
import os
import sys
from importlib import metadata
from pathlib import Path


def source_key():
    """A hash (16 hex digits) of every .py file of gpukit and of the compilers' versions."""
    digest = hashlib.sha256(sys.version.encode())
    for package in ("numba", "numba-cuda", "llvmlite", "numpy"):
        try:
            digest.update(metadata.version(package).encode())
        except metadata.PackageNotFoundError:
            digest.update(b"none")
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder():
    """Where compiled code is kept: $GPUKIT_CACHE, or gpukit/ in the user's cache folder; one folder a source key."""
    base = os.environ.get("GPUKIT_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpukit"
    return Path(base) / "compiled" / source_key()


os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder()))
os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")  # a small problem is no fault of its user's
import numba  # noqa: E402  (the cache folder must be set before numba reads it)
from numba.extending import overload  # noqa: E402, F401

if not numba.config.CACHE_DIR:
    numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]
prange = numba.prange

# Sums may be reordered and contracted into fused operations; NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "nsz"}


@functools.wraps(numba.njit)
def njit(function=None, **options):
    """numba.njit with the disk cache on and floating-point sums free to vectorize."""
    options = {"cache": True, "fastmath": FASTMATH, "error_model": "numpy", **options}
    return numba.njit(**options)(function) if function is not None else numba.njit(**options)


@contextlib.contextmanager
def threads(count):
    """Within it compiled code runs on `count` threads (None: as many as before), afterwards on as many as before.

    For work so small that waiting for the other threads costs more than they do, above all on a busy machine.
    """
    before = numba.get_num_threads()
    numba.set_num_threads(before if count is None else min(count, before))
    try:
        yield
    finally:
        numba.set_num_threads(before)
