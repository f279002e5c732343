"""Models on disk: array files (arrayfile.py) with a JSON header, no pickle; written aside and renamed.

save_arrays(path, {"class": "LSHMF", ...}, {"U": U, ...})      load_arrays(path) -> (header, arrays)
load_model(path) -> a fitted estimator of the class that the header names

An estimator's file has in its header "class", "parameters" (all but the device) and "facts", what JSON holds of the
fitted attributes; a named tuple's arrays stand as prefix.field. What a file says is checked before it is believed: here
the file, the class and the parameters, in the rooms what they keep of a model.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import gpukit
from gpukit import arrayfile
from gpukit._version import __version__
from gpukit.errors import DataError, ModelError, ParameterError
from gpukit.runtime.atomic_write import is_temporary, replace_atomically

if TYPE_CHECKING:
    from gpukit.typing import Path as PathLike

FORMAT = 3
KIND = arrayfile.Kind(b"GPUKITM1", "a gpukit model", ModelError, "Train again, or copy the file again.")
ZIP = b"PK\x03\x04"  # what models of format 2 and older were


@contextlib.contextmanager
def atomic_write(path):
    """Yield a temporary path next to `path`, renamed to `path` on success and removed on failure (Ctrl-C too).

    An existing file is replaced whole or not at all, and its mode and, where that is allowed, its owner are kept; what
    a killed process has left in the folder is removed. A pipe or a device (/dev/stdout) is written directly. Raises
    DataError when the folder does not exist, cannot be written, or when path is a folder.
    """
    target = check_writable(path)
    direct = target.exists() and not target.is_file()
    try:
        with contextlib.nullcontext(target) if direct else replace_atomically(target) as place:
            yield place
    except BrokenPipeError:  # who read from the pipe has seen enough
        raise
    except OSError as error:
        if not (error.filename in (None, str(target)) or is_temporary(error.filename)):
            raise  # another file's trouble, met while this one was being written
        raise DataError(f"cannot write {path}: {error.strerror or error}.") from error


def check_writable(path):
    """The file, pipe or device that path names (links followed); DataError when atomic_write could not write it."""
    try:
        return _writable(Path(path))
    except (OSError, RuntimeError) as error:  # a name that is too long; links that go in a circle
        raise DataError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}.") from error


def _writable(target):
    if target.is_dir():
        raise DataError(f"{target} is a folder; give the name of a file in it.")
    if target.exists() and not target.is_file():
        return target  # not resolved: /dev/stdout stands for a pipe that has no path
    target = target.resolve()
    if not target.parent.is_dir():
        raise DataError(
            f"cannot write {target}: the folder {target.parent} does not exist. Create it first (mkdir -p)."
        )
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise DataError(f"cannot write {target}: no permission to write in {target.parent}.")
    if target.exists() and not os.access(target, os.W_OK):
        raise DataError(f"cannot write {target}: the file is there already and is read-only.")
    return target


def save_arrays(path, header, arrays):
    """Write a JSON-able dict and named arrays to one file.

    header  dict; load_model expects "class", the estimator's name. The format and gpukit's version are added.
    arrays  {name: array} of numbers, booleans or fixed-width strings; objects raise ParameterError.
    """
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise ParameterError(f"array {name!r} holds Python objects; a model file keeps numbers and strings only.")
    with atomic_write(path) as place, open(place, "wb") as file:
        arrayfile.write(file, KIND.magic, {**header, "format": FORMAT, "gpukit": __version__}, arrays)


def load_arrays(path):
    """(header, {name: array}) of a file that save_arrays wrote.

    Raises DataError when there is no such file, ModelError when it is not a gpukit model, is damaged, or of another
    format.
    """
    load_header(path)
    facts, arrays = arrayfile.read(path, KIND)
    for name, array in arrays.items():
        if not array.ndim:  # checks count rows
            raise ModelError(f"{path} is damaged: {name} is a single value, not an array. Train again.")
    return facts, arrays


def load_header(path):
    """The header alone; reads no array. Raises as load_arrays does."""
    path = Path(path)
    if not path.is_file():
        if path.exists():
            raise DataError(f"{path} is not a file. Name the model file itself.")
        raise DataError(f"no model file {path}. Check the name; the folder that gpukit looks from is {Path.cwd()}.")
    if arrayfile.begins_with(path, ZIP):
        raise ModelError(
            f"{path} is a zip archive: a model of format 2 or older, which gpukit {__version__} does not read, or no "
            "model. Train again, or install the version that wrote it."
        )
    header = arrayfile.read_header(path, KIND).facts
    if header.get("format") != FORMAT:
        raise ModelError(
            f"{path} has model format {header.get('format')!r}, written by gpukit {header.get('gpukit')!r}; gpukit "
            f"{__version__} reads format {FORMAT}. Train again, or install that version."
        )
    return header


class Arrays(dict):
    """The arrays of a file by name; one that is not there is a ModelError."""

    def __init__(self, path, arrays):
        super().__init__(arrays)
        self.path = path

    def __missing__(self, name):
        raise ModelError(f"{self.path} lacks {name!r}: it is damaged. Train again, or copy the file again.")

    def gathered(self, kind, prefix):
        """The named tuple of class kind whose arrays stand under a prefix; fields with a default may be missing."""
        names = [name for name in kind._fields if name not in kind._field_defaults or f"{prefix}.{name}" in self]
        return kind(**{name: self[f"{prefix}.{name}"] for name in names})


def spread(prefix, arrays):
    """{prefix.field: array} of a named tuple of arrays, without empty ones that have a default; see Arrays.gathered."""
    fields, defaults = arrays._asdict().items(), arrays._field_defaults
    return {f"{prefix}.{name}": array for name, array in fields if array.size or name not in defaults}


def lasting(estimator):
    """An estimator's parameters as JSON holds them: all but the device."""
    return {name: native(value) for name, value in estimator.get_params().items() if name != "device"}


def native(value):
    """A numpy number as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def save_model(path, estimator, facts, arrays):
    """Write a fitted estimator: its class and parameters, facts (a dict for JSON) and {name: array}."""
    header = {"class": type(estimator).__name__, "parameters": lasting(estimator), "facts": facts}
    save_arrays(path, header, arrays)


def read_model(path, cls):
    """(an estimator of class cls that is not fitted yet, facts, Arrays) of a file that save_model wrote.

    Raises as load_arrays does, and ModelError for a file of another class, for parameters that the class does not have
    or that are out of bounds.
    """
    header, arrays = load_arrays(path)
    if header.get("class") != cls.__name__:
        raise ModelError(f"{path} holds a {_shown(header.get('class'))}, not a {cls.__name__}.")
    with report_damage(path):
        parameters, facts = (entry_of(header, name, dict) for name in ("parameters", "facts"))
        model = cls().set_params(**parameters)
        model.check()
    return model, facts, Arrays(path, arrays)


def _shown(name):
    """A class's name, or what stands in its place, in a message."""
    return name if isinstance(name, str) and name.isidentifier() else f"{name!a:.80}"


def entry_of(header, name, kind):
    """header[name], a kind of Python's; DataError where it is not there, or something else."""
    if name not in header:
        raise DataError(f"its header lacks {name!r}.")
    if not isinstance(header[name], kind) or (kind is not bool and isinstance(header[name], bool)):
        raise DataError(f"{name!r} in its header is {header[name]!r:.80}.")
    return header[name]


def check_seconds(timings):
    """DataError unless {stage: seconds} has a number a stage."""
    for stage in timings:
        entry_of(timings, stage, int | float)


@contextlib.contextmanager
def report_damage(path):
    """Raise a ModelError that names the file in place of errors about its content."""
    try:
        yield
    except ModelError:
        raise
    except (DataError, ParameterError) as error:
        raise ModelError(f"{path} is damaged: {error} Train again, or copy the file again.") from error


def load_model(path: PathLike) -> Any:
    """Return the fitted estimator in a file, of the class that its header names.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Estimator

    Raises
    ------
    DataError
        The file does not exist.
    ModelError
        The file contains no model, is damaged or has another format.
    """
    name = load_header(path).get("class")
    if name == "checkpoint":
        raise ModelError(f"{path} is a checkpoint, not a model: go on from it with --checkpoint {path} --resume.")
    if not isinstance(name, str) or name not in gpukit.ESTIMATORS:
        known = ", ".join(gpukit.ESTIMATORS)
        raise ModelError(f"{path} holds a {_shown(name)}, which gpukit {__version__} does not know; it knows {known}.")
    return getattr(gpukit, name).load(path)
