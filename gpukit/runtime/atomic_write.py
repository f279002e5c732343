"""Atomic writes: files and folders that replace their target whole or not at all.

The temporary file is next to its target, is named `.NAME.XXXXXXXX.gpukit-part`, and is locked by its process. The lock
ends with the process, so the next write in the folder removes unlocked files.
"""

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import stat
from pathlib import Path

SUFFIX = ".gpukit-part"
TEMPORARY_NAME = re.compile(r"\..*\.[0-9a-f]{8}" + re.escape(SUFFIX), re.DOTALL)


@contextlib.contextmanager
def replace_atomically(target, folder=False, mode=None):
    """Yield the path of an empty temporary file (or folder) that replaces target, a Path, on success.

    On any failure, including Ctrl-C, it is removed; stale ones in the same folder are removed first. mode: of the file,
    from its creation on; None keeps the mode and, where permitted, the owner and group of an existing target. Raises
    OSError.
    """
    remove_stale(target.parent)
    path, lock = _temporary_path(target), None
    try:
        lock = _create_locked(path, folder, mode or 0o666)
        if mode is None and not folder and target.exists():
            _copy_ownership(target, lock)
        yield path
        os.replace(path, target)
    finally:
        _remove(path)
        if lock is not None:
            os.close(lock)


def is_temporary(path):
    """Return True for the name of a temporary file of `replace_atomically`."""
    return TEMPORARY_NAME.fullmatch(Path(path).name) is not None


def remove_stale(folder):
    """Remove temporary files of killed processes from a folder."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in [entry for entry in entries if TEMPORARY_NAME.fullmatch(entry.name)]:
            with contextlib.suppress(OSError):  # locked by its process, or already removed
                _remove_if_unlocked(entry)


def _remove_if_unlocked(entry):
    mode = os.O_RDONLY if entry.is_dir(follow_symlinks=False) else os.O_RDWR
    lock = os.open(entry.path, mode | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(Path(entry.path))
    finally:
        os.close(lock)


def _temporary_path(target):
    """Return a new path next to target, with its name cut to the system's limit."""
    ending = f".{secrets.token_hex(4)}{SUFFIX}"
    try:
        limit = os.pathconf(target.parent, "PC_NAME_MAX")
    except (OSError, ValueError):
        limit = 255  # bytes
    name = os.fsencode(target.name)[: limit - len(ending) - 1].decode(errors="ignore")
    return target.with_name(f".{name}{ending}")


def _create_locked(path, folder, mode):
    """Create and lock a file or folder; return its descriptor."""
    while True:
        if folder:
            path.mkdir()
            lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        else:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with contextlib.suppress(OSError):  # no locks on this file system: stale files stay
            fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():  # otherwise another process removed it as stale before the lock
            return lock
        os.close(lock)


def _copy_ownership(target, descriptor):
    """Copy target's mode and, where permitted, its owner and group to an open file."""
    old, new = target.stat(), os.fstat(descriptor)
    mode = stat.S_IMODE(old.st_mode)
    for owner, group in ((old.st_uid, -1), (-1, old.st_gid)):
        with contextlib.suppress(OSError):
            if (owner, group) not in ((new.st_uid, -1), (-1, new.st_gid)):
                os.fchown(descriptor, owner, group)
    if os.fstat(descriptor).st_gid != old.st_gid:
        mode &= ~stat.S_IRWXG  # the rights of the old group do not apply to another group
    os.fchmod(descriptor, mode)


def _remove(path):
    with contextlib.suppress(FileNotFoundError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
