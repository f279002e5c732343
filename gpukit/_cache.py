"""Compiled code on disk: a file for each function and types, found by what the code depends on (_dependencies.py).

numba's own cache looks at the file of a function alone: after an edit, stale code is served to callers in other files
and the rest of the same file is compiled anew. Its folder is set for a whole process, other packages' functions
included. So gpukit's functions get a cache of their own here, and numba's settings stay the user's.

This file uses private names of numba and numba-cuda, which are pinned. Should they be others than expected, code is
compiled anew in each process and nothing else changes.
"""

import contextlib
import functools
import hashlib
import os
import pickle
import re
import secrets
import stat
import sys
import time
import warnings
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import numba
from numba.core.registry import cpu_target

from gpukit import _dependencies, timing
from gpukit.runtime import private

UNUSED = 30 * 24 * 3600  # seconds after which a file that nobody has loaded is removed
SETTINGS = (  # of numba, that change the code
    "OPT",
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "ENABLE_AVX",
    "DISABLE_INTEL_SVML",
)
FOLDER = "code"
DIGEST = hashlib.sha256().digest_size
COMPILERS = re.compile(r"python\d[\w.+]*(-[a-z-]+\d[\w.+]*)+")  # names of folders, see compilers()
ENTRY = re.compile(r".+-[0-9a-f]{32}(-[0-9a-f]{32}\.nbc|\.lcs)", re.DOTALL)  # names of files, see _OnDisk
LINKED = "by numbers drawn"  # how functions in a file are identified: files of other methods are not mixed with these


@functools.cache
def compilers():
    """The versions of all that makes code, as a folder's name."""
    names = ("numba", "numba-cuda", "llvmlite", "numpy")
    versions = []
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions.append(f"{name}{metadata.version(name)}")
    return "-".join([f"python{sys.version.split()[0]}", *versions])


def cache_folder():
    """Return the folder of compiled code in private.base_folder(), for each set of compilers."""
    return private.base_folder() / FOLDER / compilers()


def processor():
    """Return the processor that functions are compiled for, and its features, as text."""
    return str(cpu_target.target_context.codegen().magic_tuple())


def attach(dispatcher):
    """Give a dispatcher of numba or numba-cuda its cache on disk; returns it. Without a compiler nothing is done."""
    if not hasattr(dispatcher, "_cache"):  # plain Python: NUMBA_DISABLE_JIT
        return dispatcher
    with contextlib.suppress(ImportError, AttributeError):
        result = _gpu_cache() if type(dispatcher).__module__.startswith("numba.cuda") else _cpu_cache()
        dispatcher._cache = result(dispatcher)
    return dispatcher


def _number_apart(identity):
    """Let numba's FunctionIdentity draw the numbers that identify compiled functions.

    In the names by which they are linked, functions of one maker differ by that number alone, and numba counts from 1
    in each process: of two, one loaded from disk and one compiled here, the second was called as the first, or called
    itself without end.
    """
    next(identity._unique_ids)  # AttributeError: numba does otherwise now
    identity._unique_ids = iter(lambda: secrets.randbits(64), None)


class _OnDisk:
    """What is ours in a cache: where a function's code lies. What is in a file, and when, stays numba's."""

    def __init__(self, dispatcher):
        self._dispatcher, self._launch_config_key, self._launch_config_sensitive_flag = dispatcher, None, None
        self._impl = self._content()
        self._impl._lineno = dispatcher.py_func.__code__.co_firstlineno
        self._impl._locator = SimpleNamespace(
            _py_file=dispatcher.py_func.__code__.co_filename,
            ensure_cache_path=lambda: private.make_folder(cache_folder()),
        )
        self.enable()

    def __repr__(self):
        return f"<code of {self._dispatcher.py_func!r}>"

    @property
    def cache_path(self):
        return str(cache_folder())

    @property
    def _launch_config_marker_path(self):
        return self._start() + ".lcs"

    def is_launch_config_sensitive(self):
        return self._start() is not None and super().is_launch_config_sensitive()

    def mark_launch_config_sensitive(self):
        return self._start() is not None and super().mark_launch_config_sensitive()

    def flush(self):
        """Remove what is kept of this function as it is."""
        if start := self._start():
            for file in cache_folder().glob(Path(start).name + "*"):
                file.unlink(missing_ok=True)

    def _start(self):
        """How the paths of this function's files begin: its name and stamp. None: it cannot be kept."""
        stamp = _dependencies.stamp(self._dispatcher, self._target)
        function = self._dispatcher.py_func
        name = f"{function.__module__}.{function.__qualname__}".replace("<locals>.", "").replace("<lambda>", "lambda")
        return stamp and str(cache_folder() / f"{name[:120]}-{stamp}")

    def _file(self, signature, machine):
        """The path of the code for these types and a machine; None when there can be none."""
        start, types = self._start(), _types_text(getattr(signature, "args", signature), self._target)
        if start is None or types is None:
            return None
        result = getattr(signature, "return_type", None)
        settings = [getattr(numba.config, name, None) for name in SETTINGS]
        key = f"{types} {result} {machine} {settings} {self._launch_config_key} {LINKED}"
        return f"{start}-{hashlib.sha256(key.encode()).hexdigest()[:32]}.nbc"

    def lacks(self, types, capability=None):
        """Return True if code for these types can be kept and there is none for this processor.

        capability: compute capability of the GPU that a kernel is for; None: of the current one.
        """
        file = self._file(types, self._machine(self._dispatcher.targetctx.codegen(), capability))
        return file is not None and not os.path.exists(file)

    def load_overload(self, signature, context):
        """As numba's, without first learning all that can be compiled, which takes longer than loading what a command
        runs: what is loaded asks for none of it, and compiling begins with it anyway."""
        self._prepare(context)
        loaded = self._load_overload(signature, context)
        if loaded is None:
            timing.announce(self._dispatcher.py_func.__name__)
        return loaded

    def _load_overload(self, signature, context):
        if not self._enabled:
            return None
        try:
            file = self._file(signature, self._machine(context.codegen()))
            return file and self._impl.rebuild(context, pickle.loads(_read(file)))
        except Exception:  # not there, or damaged: compiling replaces it
            return None

    def _save_overload(self, signature, data):
        if not self._enabled or not self._impl.check_cachable(data):
            return
        try:
            if file := self._file(signature, self._machine(data.codegen)):
                _write(Path(file), self._dumps(self._impl.reduce(data)))
                _remove_unused()
        except PermissionError as error:  # others may write there, which is said by then, or this user may not
            if error.errno is not None:
                _warn(error.strerror)
        except Exception as error:
            _warn(error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}")


@functools.cache
def _cpu_cache():
    """The class of CPU functions' caches."""
    from numba.core import bytecode, caching, serialize
    from numba.core.runtime import rtsys

    _number_apart(bytecode.FunctionIdentity)

    class Content(caching.CompileResultCacheImpl):
        __init__ = object.__init__

    class Cache(_OnDisk, caching.FunctionCache):
        _content, _target, _dumps = Content, "cpu", staticmethod(serialize.dumps)
        _prepare = staticmethod(rtsys.initialize)  # loaded code counts references by it

        @staticmethod
        def _machine(codegen, capability=None):
            return codegen.magic_tuple()

    return Cache


@functools.cache
def _gpu_cache():
    """The class of kernels' caches."""
    from numba.cuda import dispatcher, serialize
    from numba.cuda.cudadrv import devices, runtime

    class Content(dispatcher.CUDACacheImpl):
        __init__ = object.__init__

    class Cache(_OnDisk, dispatcher.CUDACache):
        _content, _target, _dumps = Content, "cuda", staticmethod(serialize.dumps)
        _prepare = staticmethod(lambda context: None)

        @staticmethod
        def _machine(codegen, capability=None):
            if capability is None:
                capability = devices.get_context().device.compute_capability
            return runtime.get_version(), tuple(capability)

    return Cache


def _types_text(types, target):
    """The names of argument types, with their hidden parts: named tuples' fields, functions' stamps; or None."""
    texts = []
    for value in types:
        if hasattr(value, "dispatcher"):
            text = _dependencies.stamp(value.dispatcher, target)
        elif hasattr(value, "types"):
            text = _types_text(value.types, target)
            text = text and _dependencies.class_text(getattr(value, "instance_class", tuple)) + text
        else:
            text = None if _dependencies.ADDRESS.search(str(value)) else str(value)
        if text is None:
            return None
        texts.append(text)
    return str(texts)


def _read(file):
    """Return the content of a file and mark it as used.

    Raises ValueError when it is damaged or another entry's, PermissionError when others may have written it.
    """
    with private.open_private_file(file) as stream:
        whole = stream.read()
        content = whole[DIGEST:]
        if _digest(file, content) != whole[:DIGEST]:
            raise ValueError(f"{file} is damaged")
        with contextlib.suppress(OSError):  # the folder may be another's
            os.utime(stream.fileno())
    return content


def _write(file, content):
    """Write a file whole or not at all: others may read, and write the same, meanwhile."""
    with private.replace_private_file(file) as place:
        place.write_bytes(_digest(file, content) + content)


def _digest(file, content):
    """Return the digest of an entry: of its name too, so that no entry is taken for another."""
    return hashlib.sha256(os.fsencode(os.path.basename(file)) + b"\0" + content).digest()


@functools.cache
def _remove_unused():
    """Once a process that compiles, remove what nobody has loaded for long, of these and of other compilers.

    After a time without compilation, as in a container image, all files count as loaded now.
    """
    oldest = time.time() - UNUSED
    if private.folder_fault(cache_folder()):  # others could lead it elsewhere
        return
    mark = cache_folder().parent / "last-compilation"
    was_idle = mark.exists() and mark.stat().st_mtime < oldest
    with contextlib.suppress(OSError):  # the folder may be another's
        mark.touch(0o600)
    for folder in _entries(cache_folder().parent, COMPILERS, stat.S_ISDIR):
        for entry in _entries(folder, ENTRY, stat.S_ISREG):
            if entry.stat(follow_symlinks=False).st_mtime < oldest:
                with contextlib.suppress(OSError):  # another process does the same
                    os.utime(entry, follow_symlinks=False) if was_idle else os.unlink(entry)
        if folder.stat(follow_symlinks=False).st_mtime < oldest:
            with contextlib.suppress(OSError):  # not empty
                os.rmdir(folder)


def _entries(folder, name, is_kind):
    """Return the entries of a folder with such names that are this user's own, of a kind, and no links."""
    result = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if name.fullmatch(entry.name) and is_kind(status.st_mode) and status.st_uid == os.geteuid():
                    result.append(entry)
    return result


@functools.cache
def _warn(reason):
    """Say once a process that code is not kept; Python's own count of warnings starts anew at each compilation."""
    warnings.warn(
        f"compiled code cannot be kept in {cache_folder()} ({reason}), so each process compiles it anew. "
        "Set GPUKIT_CACHE to a folder that can be written.",
        stacklevel=1,
    )
