"""Cache of compiled code on disk: a file per function and argument types, keyed by dependencies (_dependencies.py).

numba's own cache checks only the source file of a function. After an edit it returns stale code for callers in other
files, and recompiles everything in the same file. Its folder is a setting of the whole process. Therefore gpukit has a
cache of its own and does not change numba's settings.

This file uses private names of numba and numba-cuda, whose versions are pinned. If a name is missing, code is compiled
again in each process.
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

UNUSED = 30 * 24 * 3600  # seconds without a load after which a file is removed
SETTINGS = (  # settings of numba that change the code
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
LINKED = "by numbers drawn"  # version of _randomize_identities, part of the key


@functools.cache
def compilers():
    """Return the versions of the compilers as a folder name."""
    names = ("numba", "numba-cuda", "llvmlite", "numpy")
    return "-".join([f"python{sys.version.split()[0]}", *(f"{name}{metadata.version(name)}" for name in names)])


def cache_folder():
    """Return the folder of compiled code in private.base_folder(), for each set of compilers."""
    return private.base_folder() / FOLDER / compilers()


def processor():
    """Return the processor that functions are compiled for, and its features, as text."""
    return str(cpu_target.target_context.codegen().magic_tuple())


def attach(dispatcher):
    """Attach the cache on disk to a dispatcher of numba or numba-cuda, and return it.

    A function that is not compiled is returned unchanged.
    """
    if not hasattr(dispatcher, "_cache"):  # plain Python: NUMBA_DISABLE_JIT
        return dispatcher
    with contextlib.suppress(ImportError, AttributeError):
        result = _gpu_cache() if type(dispatcher).__module__.startswith("numba.cuda") else _cpu_cache()
        dispatcher._cache = result(dispatcher)
    return dispatcher


def _randomize_identities(identity):
    """Let numba's FunctionIdentity number compiled functions at random.

    Linker names of functions from one factory differ only by this number, which numba counts from 1 in each process.
    Otherwise a function that is loaded from disk and one that is compiled here may get the same name.
    """
    next(identity._unique_ids)  # AttributeError if numba has changed
    identity._unique_ids = iter(lambda: secrets.randbits(64), None)


class _OnDisk:
    """Location of a function's code on disk; numba defines the content of the files."""

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
        """Remove the files of this function in its current version."""
        if start := self._start():
            for file in cache_folder().glob(Path(start).name + "*"):
                file.unlink(missing_ok=True)

    def _start(self):
        """Return the common start of the paths of this function's files; None if it cannot be cached."""
        stamp = _dependencies.stamp(self._dispatcher, self._target)
        function = self._dispatcher.py_func
        name = f"{function.__module__}.{function.__qualname__}".replace("<locals>.", "").replace("<lambda>", "lambda")
        return stamp and str(cache_folder() / f"{name[:120]}-{stamp}")

    def _file(self, signature, machine):
        """Return the path of the code for these types and a machine; None if it cannot be cached."""
        start, types = self._start(), _types_text(getattr(signature, "args", signature), self._target)
        if start is None or types is None:
            return None
        result = getattr(signature, "return_type", None)
        settings = [getattr(numba.config, name, None) for name in SETTINGS]
        key = f"{types} {result} {machine} {settings} {self._launch_config_key} {LINKED}"
        return f"{start}-{hashlib.sha256(key.encode()).hexdigest()[:32]}.nbc"

    def lacks(self, types, capability=None):
        """Return True if code for these types can be cached and is not, for this processor.

        capability: compute capability of the GPU that a kernel is for; None: of the current one.
        """
        file = self._file(types, self._machine(self._dispatcher.targetctx.codegen(), capability))
        return file is not None and not os.path.exists(file)

    def load_overload(self, signature, context):
        """Load code as numba does, without registering numba's implementations first.

        Registering takes longer than loading the code of a command, and only compiling needs it.
        """
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
        except Exception:  # missing or damaged: it will be compiled
            return None

    def _save_overload(self, signature, data):
        if not self._enabled or not self._impl.check_cachable(data):
            return
        try:
            if file := self._file(signature, self._machine(data.codegen)):
                _write(Path(file), self._dumps(self._impl.reduce(data)))
                _remove_unused()
        except PermissionError as error:  # writable by others, which was reported, or not writable by this user
            if error.errno is not None:
                _warn(error.strerror)
        except Exception as error:
            _warn(error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}")


@functools.cache
def _cpu_cache():
    """Return the class of the caches of CPU functions."""
    from numba.core import bytecode, caching, serialize
    from numba.core.runtime import rtsys

    _randomize_identities(bytecode.FunctionIdentity)

    class Content(caching.CompileResultCacheImpl):
        __init__ = object.__init__

    class Cache(_OnDisk, caching.FunctionCache):
        _content, _target, _dumps = Content, "cpu", staticmethod(serialize.dumps)
        _prepare = staticmethod(rtsys.initialize)  # reference counts of loaded code

        @staticmethod
        def _machine(codegen, capability=None):
            return codegen.magic_tuple()

    return Cache


@functools.cache
def _gpu_cache():
    """Return the class of the caches of kernels."""
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
    """Return the names of argument types, with fields of named tuples and stamps of functions; None if unknown."""
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

    Raises ValueError if it is damaged or belongs to another entry, PermissionError if other users may have written it.
    """
    with private.open_private_file(file) as stream:
        whole = stream.read()
        content = whole[DIGEST:]
        if _digest(file, content) != whole[:DIGEST]:
            raise ValueError(f"{file} is damaged")
        with contextlib.suppress(OSError):  # the folder may belong to another user
            os.utime(stream.fileno())
    return content


def _write(file, content):
    """Write a file atomically: other processes may read or write it at the same time."""
    with private.replace_private_file(file) as place:
        place.write_bytes(_digest(file, content) + content)


def _digest(file, content):
    """Return the digest of an entry's name and content."""
    return hashlib.sha256(os.fsencode(os.path.basename(file)) + b"\0" + content).digest()


@functools.cache
def _remove_unused():
    """Remove files that were not loaded for UNUSED seconds, of all compilers; once in a process.

    If nothing was compiled for that time, as in a container image, all files count as loaded now.
    """
    oldest = time.time() - UNUSED
    if private.folder_fault(cache_folder()):  # other users could redirect it
        return
    mark = cache_folder().parent / "last-compilation"
    was_idle = mark.exists() and mark.stat().st_mtime < oldest
    with contextlib.suppress(OSError):  # the folder may belong to another user
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
    """Return the entries of a folder by name and kind that belong to this user and are not links."""
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
    """Warn once in a process that code is not cached; numba resets Python's own registry of warnings."""
    warnings.warn(
        f"compiled code cannot be kept in {cache_folder()} ({reason}), so each process compiles it anew. "
        "Set GPUKIT_CACHE to a folder that can be written.",
        stacklevel=1,
    )
