"""Argument types of compiled functions as text, and the functions that each job compiles.

`float32[2C]` is a C-contiguous array of two dimensions, `float32[2C]r` a read-only one,
`gpukit.x.y:Pairs(int32[1C],int64)` a named tuple or the Frame of a loop, `int64` a number. A kernel of a maker is named
by the call, `make_argsort(True,128,False)`, with an index if the maker returns several.
"""

import ast
import importlib
import inspect
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpukit._jit import types
from gpukit.device import has_quad_additions
from gpukit.scheduler.intrinsics import Frame

FILE = Path(__file__).with_name("signatures.txt")
CALL = re.compile(r"(\w+)\((.*)\)(?:\[(\d+)\])?")
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

    @property
    def is_kernel(self):
        """True for the modules of kernels, which have no other functions that Python calls."""
        return "kernels" in re.split(r"[._]", self.module)

    def for_gpu(self, capability):
        """Return the Task that a GPU of another compute capability has in place of this one.

        The listed ones are of a GPU with additions of four numbers at once, which makers take as `vector`.
        """
        if not (call := CALL.fullmatch(self.name)):
            return self
        from gpukit._cuda import name_of_call

        maker, constants, index = call.groups()
        names = inspect.signature(getattr(importlib.import_module(self.module), maker)).parameters
        values = dict(zip(names, constants_of(constants)))
        if "vector" in values:
            values["vector"] = has_quad_additions(capability)
        return self._replace(name=name_of_call(maker, values.values(), index))

    def compile(self):
        """Compile the function, or load it, if it is in the cache; raises what numba and a stale line raise."""
        self.dispatcher.compile(types_of(self.types))

    def is_missing(self, capability=None):
        """Return True if the cache could have the function, compiled for this processor, and does not.

        capability: compute capability of the GPU that kernels are for.
        """
        cache = getattr(self.dispatcher, "_cache", None)  # none in plain Python: NUMBA_DISABLE_JIT
        return hasattr(cache, "lacks") and cache.lacks(types_of(self.types), capability)

    @property
    def dispatcher(self):
        """The function or kernel, which its module is imported for."""
        module = importlib.import_module(self.module)
        if call := CALL.fullmatch(self.name):
            maker, constants, index = call.groups()
            result = getattr(module, maker)(*constants_of(constants))
            return result if index is None else result[int(index)]
        function = getattr(module, self.name)
        return getattr(function, "loop", function)


def constants_of(text):
    """Return the constants of a call that _cuda.name_of_call has spelled."""
    return [getattr(np, word, None) or ast.literal_eval(word) for word in text.split(",")]


def tasks_of(job, capability=None):
    """Return the Tasks of a job in the order in which it calls them, on a GPU of this compute capability."""
    lines = (line.split() for line in FILE.read_text().splitlines())
    tasks = [Task(*words) for name, *words in lines if name == job]
    return tasks if capability is None else [_for_gpu(task, capability) for task in tasks]


def _for_gpu(task, capability):
    try:
        return task.for_gpu(capability)
    except Exception:  # a stale line
        return task


def missing_tasks(job, capability=None):
    """Return the Tasks of a job whose functions the cache lacks; a stale line is none."""
    return [task for task in tasks_of(job, capability) if is_missing(task, capability)]


def is_missing(task, capability=None):
    """Return Task.is_missing; False of a stale line."""
    try:
        return task.is_missing(capability)
    except Exception:  # the process that needs the function reports it
        return False


def text_of(kinds):
    """Return numba's argument types as text; None if one of them has no text."""
    texts = [_text_of_one(kind) for kind in kinds]
    return None if None in texts else ",".join(texts)


def _text_of_one(value):
    if isinstance(value, types.Array):
        known = value.aligned and isinstance(value.dtype, types.Number | types.Boolean)
        return f"{value.dtype}[{value.ndim}{value.layout}]{'' if value.mutable else 'r'}" if known else None
    if isinstance(value, types.BaseNamedTuple | Frame):
        inner, kind = text_of(value.types), getattr(value, "instance_class", Frame)
        return inner and f"{kind.__module__}:{kind.__qualname__}({inner})"
    return str(value) if isinstance(value, types.Number | types.Boolean) else None


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
            result = Frame(parts) if kind is Frame else types.BaseTuple.from_types(parts, kind)
        elif scalar:
            result = getattr(types, scalar)
        else:
            result = types.Array(getattr(types, dtype), int(ndim), layout, readonly=bool(readonly))
        groups[-1].append(result)
    return tuple(groups[0])
