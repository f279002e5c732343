"""Kinds with planted faults, which the fuzzer must detect; only tests use them."""

import os
import signal
import time

import numpy as np

from fuzz.mutate import raw
from fuzz.registry import Kind, single
from gpukit.errors import DataError


def answer(path, use):
    """Return the bytes of a file, or fail.

    The first byte of a changed file selects the fault.
    """
    data = path.read_bytes()
    if data[:6] == b"sample":
        return {"bytes": np.frombuffer(data, np.uint8)}
    fault = list(FAULTS.values())[data[0] % len(FAULTS) if data else 0]
    return fault()


def own():
    """Raise an error of one line."""
    raise DataError("this is no sample.")


def unreadable():
    """Raise a gpukit error that is not one line."""
    error = DataError("x")
    error.args = ("two\nlines",)
    raise error


def other():
    """Raise another exception."""
    raise KeyError("offset")


def memory():
    """Allocate more memory than is available."""
    np.ones(1 << 40)


def crash():
    """Crash like compiled code that writes out of bounds."""
    os.kill(os.getpid(), signal.SIGSEGV)


def hang():
    """Loop forever."""
    time.sleep(3600)


FAULTS = {
    "own error": own,
    "inconsistent": unreadable,
    "other exception": other,
    "MemoryError": memory,
    "crash": crash,
    "hang": hang,
}


def judge(found, files):
    """A file that ends in a dot is inconsistent."""
    return "it ends in a dot" if found["bytes"].tobytes().endswith(b".") else None


def first_byte(data, rng):
    """Replace the first byte: each value is one fault."""
    return bytes([rng.integers(len(FAULTS))]) + data[1:]


KINDS = [
    Kind("planted-faults", lambda: [single("a", b"sample")], (first_byte,), answer, judge),
    Kind("planted-same", lambda: [single("a", b"sample" + bytes(200))], raw.BYTES, answer, judge, same=True),
    Kind("planted-pipe", lambda: [single("a", b"sample")], (lambda data, rng: data,), answer, judge, pipes=True),
]
