"""Argument types of compiled functions as text, and the list of what each job compiles.

`float32[2C]` is a C-contiguous array of two dimensions, `float32[2C]r` a read-only one,
`gpukit.x.y:Pairs(int32[1C],int64)` a named tuple or the Frame of a loop, `int64` a number.
"""

import importlib
import re
from pathlib import Path
from typing import NamedTuple

from gpukit._jit import types
from gpukit.scheduler.intrinsics import Frame

FILE = Path(__file__).with_name("signatures.txt")
TOKEN = re.compile(r"([\w.]+):(\w+)\(|(\w+)\[(\d)([ACF])\](r?)|(\w+)|(\))")


class Task(NamedTuple):
    """A function to compile: its module, its name there, and its argument types as text."""

    module: str
    name: str
    types: str

    @property
    def function(self):
        """(module, name)."""
        return self.module, self.name

    def compile(self):
        """Compile the function, or load it, if it is in the cache; raises what numba and a stale line raise."""
        self._dispatcher().compile(types_of(self.types))

    def is_missing(self):
        """Return True if the cache could have the function, compiled for this processor, and does not."""
        cache = getattr(self._dispatcher(), "_cache", None)  # none in plain Python: NUMBA_DISABLE_JIT
        return hasattr(cache, "lacks") and cache.lacks(types_of(self.types))

    def _dispatcher(self):
        found = getattr(importlib.import_module(self.module), self.name)
        return getattr(found, "loop", found)


def tasks_of(job):
    """Return the Tasks of a job in the order in which it calls them."""
    lines = (line.split() for line in FILE.read_text().splitlines())
    return [Task(*words) for name, *words in lines if name == job]


def missing_tasks(job):
    """Return the Tasks of a job whose functions the cache lacks; a stale line is none."""
    return [task for task in tasks_of(job) if _is_missing(task)]


def _is_missing(task):
    try:
        return task.is_missing()
    except Exception:  # the process that needs the function reports it
        return False


def text_of(kinds):
    """Return numba's argument types as text; None if one of them has no text."""
    texts = [_text_of_one(one) for one in kinds]
    return None if None in texts else ",".join(texts)


def _text_of_one(one):
    if isinstance(one, types.Array):
        known = one.aligned and isinstance(one.dtype, types.Number | types.Boolean)
        return f"{one.dtype}[{one.ndim}{one.layout}]{'' if one.mutable else 'r'}" if known else None
    if isinstance(one, types.BaseNamedTuple | Frame):
        inner, kind = text_of(one.types), getattr(one, "instance_class", Frame)
        return inner and f"{kind.__module__}:{kind.__qualname__}({inner})"
    return str(one) if isinstance(one, types.Number | types.Boolean) else None


def types_of(text):
    """Return the tuple of numba's types that `text_of` has spelled."""
    groups, classes = [[]], []
    for module, name, dtype, ndim, layout, readonly, scalar, end in TOKEN.findall(text):
        if name:
            groups.append([])
            classes.append(getattr(importlib.import_module(module), name))
            continue
        if end:
            parts, kind = tuple(groups.pop()), classes.pop()
            made = Frame(parts) if kind is Frame else types.BaseTuple.from_types(parts, kind)
        elif scalar:
            made = getattr(types, scalar)
        else:
            made = types.Array(getattr(types, dtype), int(ndim), layout, readonly=bool(readonly))
        groups[-1].append(made)
    return tuple(groups[0])
