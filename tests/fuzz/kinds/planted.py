"""Kinds with faults of their own: what the fuzzer must see. Of no campaign; tests name them."""

import os
import signal
import time

import numpy as np

from fuzz.mutate import raw
from fuzz.registry import Kind, single
from gpukit.errors import DataError


def answer(path, use):
    """The bytes of a file; what does not begin as the sample goes wrong in a way that its first byte says."""
    data = path.read_bytes()
    if data[:6] == b"sample":
        return {"bytes": np.frombuffer(data, np.uint8)}
    fault = list(FAULTS.values())[data[0] % len(FAULTS) if data else 0]
    return fault()


def own():
    """One line."""
    raise DataError("this is no sample.")


def unreadable():
    """An own error that is no line."""
    error = DataError("x")
    error.args = ("two\nlines",)
    raise error


def other():
    """Some other exception."""
    raise KeyError("offset")


def memory():
    """More than there is."""
    np.ones(1 << 40)


def crash():
    """As compiled code that writes where it must not."""
    os.kill(os.getpid(), signal.SIGSEGV)


def hang():
    """For ever."""
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
    """Another first byte: one fault after the other."""
    return bytes([rng.integers(len(FAULTS))]) + data[1:]


KINDS = [
    Kind("planted-faults", lambda: [single("a", b"sample")], (first_byte,), answer, judge),
    Kind("planted-same", lambda: [single("a", b"sample" + bytes(200))], raw.BYTES, answer, judge, same=True),
    Kind("planted-pipe", lambda: [single("a", b"sample")], (lambda data, rng: data,), answer, judge, pipes=True),
]
