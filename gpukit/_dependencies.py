"""Hash of everything that a compiled function depends on: `stamp`.

The hash covers the bytecode, constants and options of a function, and the values of the globals, closure cells and
module attributes that it names. Docstrings, line numbers and file times are ignored. Functions among these values are
followed recursively; cycles are allowed. Intrinsics and overloads run in Python while their callers are compiled, so
their whole source file is included. Modules of FOREIGN are included by name only, because their versions are in the
name of the cache folder.

A reference by a computed name, as by getattr, is not detected. If the content of a value is unknown, the stamp is None,
and the function is compiled again in each process.
"""

import functools
import hashlib
import re
import sys
from types import CodeType, FunctionType, ModuleType

import numpy as np

FOREIGN = sys.stdlib_module_names | {"numba", "numba_cuda", "numpy", "llvmlite", "cuda"}
SCALARS = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")
_overloads = {}  # function: [(implementation, options)]
_first_seen = {}  # (id, target): (node, its text, its references); keeps the nodes alive, so that ids are unique
_codes = {}  # id: (code, its text)


class UnknownContentError(Exception):
    """A value that cannot be hashed, or that has changed since code was compiled with it."""


def wrap_overload(overload):
    """Return numba's `overload`, which also records the implementations of gpukit's functions."""

    @functools.wraps(overload)
    def record(function, **options):
        def decorate(implementation):
            _overloads.setdefault(function, []).append((implementation, options))
            return overload(function, **options)(implementation)

        return decorate

    return record


def stamp(root, target):
    """Return a hash (32 hex digits) of the dependencies of a dispatcher or Python function; None if unknown.

    target: "cpu" or "cuda", whose overloads are included. Nodes are numbered in order of discovery, so that equal
    graphs have equal hashes.
    """
    order, number, digest = [root], {id(root): 0}, hashlib.sha256(target.encode())
    try:
        for node in order:  # which grows meanwhile
            text, others = _describe(node, target)
            for other in others:
                if id(other) not in number:
                    number[id(other)] = len(order)
                    order.append(other)
            digest.update(f"{text} {[number[id(other)] for other in others]}\n".encode())
    except UnknownContentError:
        return None
    return digest.hexdigest()[:32]


def _describe(node, target):
    """Return (text, referenced nodes); UnknownContentError if they have changed since the first call.

    Compilers treat globals as constants: after a change, compiled code may contain both values.
    """
    facts = _Facts(target)
    text = facts.node(node)
    _, first_text, first_others = _first_seen.setdefault((id(node), target), (node, text, facts.others))
    if first_text != text or list(map(id, first_others)) != list(map(id, facts.others)):
        raise UnknownContentError(f"{node} has changed")
    return text, facts.others


class _Facts:
    """Text of one node, with # for each referenced node, and the list of these."""

    def __init__(self, target):
        self.target, self.others, self.modules = target, [], set()

    def node(self, node):
        """Return the text of a dispatcher, an intrinsic or a function."""
        if isinstance(node, FunctionType):
            return self.function(node)
        if hasattr(node, "_defn"):
            return f"intrinsic {_source_hash(node._defn)} {self.value(node._defn)}"
        return f"dispatcher {self.value(dict(node.targetoptions))} {self.value(node.py_func)}"

    def function(self, function):
        """Return the text of a Python function: its name, its code, and the values of all names in it."""
        names = _names(function.__code__)
        scope = {name: function.__globals__[name] for name in names if name in function.__globals__}
        cells = zip(function.__code__.co_freevars, function.__closure__ or ())
        values = [self.value(part) for part in (function.__defaults__, function.__kwdefaults__)]
        values += [f"{name}={self.value(value, names)}" for name, value in scope.items()]
        values += [f"{name}={self.value(_content(cell), names)}" for name, cell in cells]
        values += [text for result in _overloads.get(function, ()) if (text := self.overload(*result))]
        return f"{function.__module__}.{function.__qualname__} {_code_text(function)} {values}"

    def overload(self, implementation, options):
        """Return the text of an overload; None for another target."""
        if options.get("target", self.target) not in (self.target, "generic"):
            return None
        return f"overload {_source_hash(implementation)} {self.value(options)} {self.value(implementation)}"

    def value(self, value, names=()):
        """Return the text of any value.

        names: names in the function, which may be attributes of a module.
        """
        kind = type(value)
        if kind in SCALARS:
            return f"{kind.__name__}:{value!r}"
        if isinstance(value, ModuleType):
            return self.module(value, names)
        if isinstance(value, type):
            return class_text(value, self)
        if hasattr(value, "py_func") or hasattr(value, "_defn") or _is_own_function(value):
            self.others.append(value)
            return "#"
        if isinstance(value, (tuple, list)):
            return f"{class_text(kind, self)}:[{', '.join(map(self.value, value))}]"
        if isinstance(value, (set, frozenset)):
            return f"{kind.__name__}:{sorted(map(self.value, value))}"
        if isinstance(value, dict):
            return f"dict:{sorted((self.value(key), self.value(item)) for key, item in value.items())}"
        return self.foreign(value)

    def module(self, module, names):
        """Return the text of the named objects of a module; for a foreign module, its name."""
        if _is_foreign(module.__name__) or module.__name__ in self.modules:
            return f"module {module.__name__}"
        self.modules.add(module.__name__)
        result = [name for name in names if name in vars(module)]
        return f"module {module.__name__} {[f'{name}={self.value(vars(module)[name], names)}' for name in result]}"

    def foreign(self, value):
        """Return the text of an array, a number of numpy, a foreign function or object, or a wrapped function."""
        if isinstance(value, (np.ndarray, np.generic)):
            if value.dtype.hasobject:
                raise UnknownContentError("an array of Python objects")
            content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            return f"{type(value).__name__} {value.dtype!r} {value.shape} {content}"
        if hasattr(value, "__wrapped__"):  # of functools.cache
            return f"wrapped {self.value(value.__wrapped__)}"
        if hasattr(value, "__qualname__") and _is_foreign(getattr(value, "__module__", None)):
            return f"{getattr(value, '__module__', None)}.{value.__qualname__}"
        shown = repr(value)
        if not _is_foreign(type(value).__module__) or ADDRESS.search(shown):
            raise UnknownContentError(f"a value of {type(value)}")
        return f"{type(value).__module__}.{type(value).__qualname__} {shown}"


def class_text(cls, facts=None):
    """Return the text of a class: the fields of a named tuple, the source file of another class of gpukit.

    facts: the _Facts of the node that refers to it.
    """
    facts, name = facts or _Facts("cpu"), f"{cls.__module__}.{cls.__qualname__}"
    if hasattr(cls, "_fields"):
        return f"class {name} {cls._fields} {facts.value(getattr(cls, '_field_defaults', {}))}"
    return f"class {name}" if _is_foreign(cls.__module__) else f"class {name} {_source_hash(cls)}"


def _is_foreign(module):
    return (module or "builtins").partition(".")[0] in FOREIGN


def _is_own_function(value):
    return isinstance(value, FunctionType) and (value in _overloads or not _is_foreign(value.__module__))


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def _source_hash(result):
    """Return the hash of the source file that defines a function or a class."""
    path = result.__code__.co_filename if isinstance(result, FunctionType) else sys.modules[result.__module__].__file__
    return _file_hash(path)


@functools.cache
def _file_hash(path):
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError as error:
        raise UnknownContentError(f"the source {path}") from error


def _names(code):
    """Return the names of globals, attributes and methods in a function and in its inner functions, each once."""
    inner = [name for const in code.co_consts if isinstance(const, CodeType) for name in _names(const)]
    return dict.fromkeys([*code.co_names, *inner])


def _code_text(function):
    """Return the hash of a function's code without docstring and line numbers; cached."""
    code = function.__code__
    if id(code) not in _codes:
        consts = code.co_consts
        skipped = 1 if consts and consts[0] == function.__doc__ else 0
        _codes[id(code)] = code, hashlib.sha256(_code_parts(code, skipped).encode()).hexdigest()
    return _codes[id(code)][1]


def _code_parts(code, skipped=0):
    shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    facts = _Facts("cpu")
    consts = [_code_parts(c) if isinstance(c, CodeType) else facts.value(c) for c in code.co_consts[skipped:]]
    return f"{shape} {names} {code.co_code.hex()} {code.co_exceptiontable.hex()} {consts}"
