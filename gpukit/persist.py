"""Models on disk: array files (arrayfile.py) with a JSON header, without pickle, written atomically.

    save_arrays(path, {"class": "LSHMF", ...}, {"U": U, ...})
    load_arrays(path)     -> (header, arrays)
    load_model(path)      -> a fitted estimator of the class in the header

The header of an estimator's file has "class", "parameters" (all but the device) and "facts" (fitted attributes that
JSON can hold). Arrays of a named tuple are stored as prefix.field. Contents are validated before use: the file, the
class and the parameters here, the rest in the package of the estimator.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
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
KIND = arrayfile.Kind(
    arrayfile.WRITTEN["model"][0], "a gpukit model", ModelError, "Train again, or copy the file again."
)


@contextlib.contextmanager
def atomic_write(path):
    """Yield a temporary path, renamed to `path` on success and removed on failure (Ctrl-C too).

    An existing file is replaced completely or not at all; its mode and, if permitted, its owner are kept. Temporary
    files of killed processes are removed. A pipe or a device (/dev/stdout) is written directly. Raises DataError if the
    folder does not exist or is not writable, or if path is a folder.
    """
    target = check_writable(path)
    direct = target.exists() and not target.is_file()
    try:
        with contextlib.nullcontext(target) if direct else replace_atomically(target) as place:
            yield place
    except BrokenPipeError:  # the reader of the pipe has stopped
        raise
    except OSError as error:
        if not (error.filename in (None, str(target)) or is_temporary(error.filename)):
            raise  # an error of another file
        raise DataError(f"cannot write {path}: {error.strerror or error}.") from error


@contextlib.contextmanager
def atomic_open(path):
    """Yield a binary file that `atomic_write` puts at `path`."""
    with atomic_write(path) as place, open(place, "wb", opener=_open_untruncated) as file:
        yield file


def _open_untruncated(path, flags):
    """Open a new file or a pipe: ext4 writes a file to the disk when it is closed if it was ever cut to no bytes."""
    return os.open(path, flags & ~os.O_TRUNC)


def check_writable(path):
    """Return the file, pipe or device at path, links resolved; DataError if atomic_write cannot write it."""
    try:
        return _writable(path)
    except (OSError, RuntimeError) as error:  # too long names, circular links
        raise DataError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}.") from error


def _writable(path):
    target = Path(path)
    if target.is_dir() or str(path).endswith(os.sep):
        raise DataError(f"{target} is a folder; give the name of a file in it.")
    if target.exists() and not target.is_file():
        return target  # not resolved: the pipe of /dev/stdout has no path
    target = target.resolve()
    if target.parent.is_file():
        raise DataError(f"cannot write {target}: {target.parent} is a file, not a folder. Give another folder.")
    if not target.parent.is_dir():
        raise DataError(
            f"cannot write {target}: the folder {target.parent} does not exist. Create it first (mkdir -p)."
        )
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise DataError(f"cannot write {target}: no permission to write in {target.parent}.")
    if target.exists() and not os.access(target, os.W_OK):
        raise DataError(f"cannot write {target}: the file is there already and is read-only.")
    try:
        with tempfile.TemporaryFile(dir=target.parent):  # /proc and some network folders refuse it whatever the rights
            return target
    except OSError as error:
        why = f"no file can be created in {target.parent} ({error.strerror or error})"
        raise DataError(f"cannot write {target}: {why}. Give another folder.") from error


def save_arrays(path, header, arrays):
    """Write a header and named arrays to one file.

    header: JSON-serializable dict; load_model expects "class", the estimator's name; the format and gpukit's version
    are added. arrays: {name: array} of numbers, booleans or fixed-width strings; ParameterError for objects.
    """
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise ParameterError(f"array {name!r} holds Python objects; a model file keeps numbers and strings only.")
    with atomic_open(path) as file:
        arrayfile.write(file, KIND.magic, {**header, "format": FORMAT, "gpukit": __version__}, arrays)


def load_arrays(path):
    """Return (header, {name: array}) of a file written by save_arrays.

    Raises DataError if it does not exist, ModelError if it is no gpukit model, is damaged, or has another format.
    """
    load_header(path)
    facts, arrays = arrayfile.read(path, KIND)
    for name, array in arrays.items():
        if not array.ndim:  # checks count rows
            raise ModelError(f"{path} is damaged: {name} is a single value, not an array. Train again.")
    return facts, arrays


def load_header(path):
    """Return the header without reading arrays; raises as load_arrays."""
    path = Path(path)
    with arrayfile.disk_errors(path):
        if not path.is_file():
            if path.exists():
                raise DataError(f"{path} is not a file. Name the model file itself.")
            raise DataError(f"no model file {path}. Check the name; the folder that gpukit looks from is {Path.cwd()}.")
    header = arrayfile.read_header(path, KIND).facts
    if header.get("format") != FORMAT:
        raise ModelError(
            f"{path} has model format {header.get('format')!r}, written by gpukit {header.get('gpukit')!r}; gpukit "
            f"{__version__} reads format {FORMAT}. Train again, or install that version."
        )
    return header


def load_shapes(path):
    """Return {name of an array: shape} of a model without reading the arrays; raises as load_arrays."""
    return {entry.name: entry.shape for entry in arrayfile.read_header(path, KIND).entries}


class Arrays(dict):
    """Arrays of a file by name; ModelError for a missing one."""

    def __init__(self, path, arrays):
        super().__init__(arrays)
        self.path = path

    def __missing__(self, name):
        raise ModelError(f"{self.path} lacks {name!r}: it is damaged. Train again, or copy the file again.")

    def gathered(self, kind, prefix):
        """Return the named tuple of class `kind` stored under a prefix; fields with a default may be missing."""
        names = [name for name in kind._fields if name not in kind._field_defaults or f"{prefix}.{name}" in self]
        return kind(**{name: self[f"{prefix}.{name}"] for name in names})


def spread(prefix, arrays):
    """Return {prefix.field: array} of a named tuple of arrays, without empty ones with a default.

    See Arrays.gathered.
    """
    fields, defaults = arrays._asdict().items(), arrays._field_defaults
    return {f"{prefix}.{name}": array for name, array in fields if array.size or name not in defaults}


def lasting(estimator):
    """Return an estimator's parameters for JSON, without the device."""
    return {name: native(value) for name, value in estimator.get_params().items() if name != "device"}


def native(value):
    """Return a numpy number as a Python number; other values unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def save_model(path, estimator, facts, arrays):
    """Write a fitted estimator: class, parameters, facts (a JSON-serializable dict) and {name: array}."""
    header = {"class": type(estimator).__name__, "parameters": lasting(estimator), "facts": facts}
    save_arrays(path, header, arrays)


def read_model(path, cls):
    """Return (unfitted estimator of class cls, facts, Arrays) of a file written by save_model.

    Raises as load_arrays, and ModelError for another class and for unknown or invalid parameters.
    """
    header, arrays = load_arrays(path)
    if header.get("class") != cls.__name__:
        raise ModelError(f"{path} holds a {_quote_name(header.get('class'))}, not a {cls.__name__}.")
    with report_damage(path):
        parameters, facts = (entry_of(header, name, dict) for name in ("parameters", "facts"))
        removed = getattr(cls, "_removed_parameters", ())
        model = cls().set_params(**{name: value for name, value in parameters.items() if name not in removed})
        model.check()
    return model, facts, Arrays(path, arrays)


def _quote_name(name):
    """Return a class name of a header, quoted and shortened if invalid, for messages."""
    return name if isinstance(name, str) and name.isidentifier() else f"{name!a:.80}"


def entry_of(header, name, kind):
    """Return header[name]; DataError if it is missing or not of the type `kind`."""
    if name not in header:
        raise DataError(f"its header lacks {name!r}.")
    if not isinstance(header[name], kind) or (kind is not bool and isinstance(header[name], bool)):
        raise DataError(f"{name!r} in its header is {header[name]!r:.80}.")
    return header[name]


def check_seconds(timings):
    """Raise DataError unless {stage: seconds} has a number for each stage."""
    for stage in timings:
        entry_of(timings, stage, int | float)


def facts_of(model, kinds):
    """Return {name: attribute name_} of a fitted model, for the names of `kinds` that it has."""
    return {name: getattr(model, f"{name}_") for name in kinds if hasattr(model, f"{name}_")}


def restore_facts(model, facts, kinds, optional=()):
    """Set the attributes name_ of a model to the facts of `facts_of` in a file; kinds: {name: type}.

    Raises DataError for a fact that is unknown, missing (unless optional) or of another type, and for stages without
    seconds.
    """
    for name in facts:
        if name not in kinds:
            raise DataError(f"{name!r} in its header is nothing that is kept of a training.")
    for name, kind in kinds.items():
        if name in facts or name not in optional:
            setattr(model, f"{name}_", entry_of(facts, name, kind))
    check_seconds(facts["timings"])


@contextlib.contextmanager
def report_damage(path):
    """Convert errors on the content of a file to a ModelError with its name."""
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

    Examples
    --------
    >>> from gpukit import SimLSH, load_model, synth_ratings
    >>> SimLSH(n_neighbors=4).fit(synth_ratings("ml-10m", scale=0.01)).save("neighbors.gpukit")
    >>> load_model("neighbors.gpukit").neighbors_.shape[1]
    4
    """
    name = load_header(path).get("class")
    if name == "checkpoint":
        raise ModelError(f"{path} is a checkpoint, not a model: go on from it with --checkpoint {path} --resume.")
    if not isinstance(name, str) or name not in gpukit.ESTIMATORS:
        known = ", ".join(gpukit.ESTIMATORS)
        raise ModelError(
            f"{path} holds a {_quote_name(name)}, which gpukit {__version__} does not know; it knows {known}."
        )
    return getattr(gpukit, name).load(path)
