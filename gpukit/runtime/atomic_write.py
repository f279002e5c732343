"""Files and folders made aside and renamed: whole or not at all, however a process ends.

What is being made lies beside its target as `.NAME.XXXXXXXX.gpukit-part` and is locked by its maker. The lock goes with
the process, so what nobody has locked was left by one that was killed: who makes the next one there removes it.
"""

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import stat
from pathlib import Path

ENDING = ".gpukit-part"
PART = re.compile(r"\..*\.[0-9a-f]{8}" + re.escape(ENDING), re.DOTALL)
LONGEST = 255  # bytes of a name, where the file system does not say


@contextlib.contextmanager
def replacing(target, folder=False, mode=None):
    """The path of an empty file (or folder) beside target, a Path; when all went well it takes target's place.

    On any failure (Ctrl-C too) it is removed. A file that it replaces leaves it its mode and, where that is allowed,
    its owner and group, unless mode says what the file's is from the first moment on. Raises OSError.
    """
    remove_dead(target.parent)
    part, lock = _beside(target), None
    try:
        lock = _begun(part, folder, mode or 0o666)
        if mode is not None:
            os.fchmod(lock, mode)  # whatever the umask took
        elif not folder and target.exists():
            _inherit(target, lock)
        yield part
        os.replace(part, target)
    finally:
        _remove(part)
        if lock is not None:
            os.close(lock)


def is_part(path):
    """Whether a path is of what is being made aside."""
    return PART.fullmatch(Path(path).name) is not None


def remove_dead(folder):
    """Remove what processes that were killed have left in a folder."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in [entry for entry in entries if PART.fullmatch(entry.name)]:
            with contextlib.suppress(OSError):  # another's, or gone meanwhile
                _remove_if_dead(entry)


def _remove_if_dead(entry):
    mode = os.O_RDONLY if entry.is_dir(follow_symlinks=False) else os.O_RDWR
    lock = os.open(entry.path, mode | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(Path(entry.path))
    finally:
        os.close(lock)


def _beside(target):
    """A new path in target's folder: the name cut so that it is not longer than the file system allows."""
    ending = f".{secrets.token_hex(4)}{ENDING}"
    try:
        most = os.pathconf(target.parent, "PC_NAME_MAX")
    except (OSError, ValueError):
        most = LONGEST
    name = os.fsencode(target.name)[: most - len(ending) - 1].decode(errors="ignore")
    return target.with_name(f".{name}{ending}")


def _begun(part, folder, mode):
    """A descriptor of part, made and locked."""
    while True:
        if folder:
            part.mkdir()
            lock = os.open(part, os.O_RDONLY | os.O_CLOEXEC)
        else:
            lock = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with contextlib.suppress(OSError):  # a file system without locks: then nothing is removed either
            fcntl.flock(lock, fcntl.LOCK_EX)
        if part.exists():  # else another process took it for dead, just before it was locked
            return lock
        os.close(lock)


def _inherit(target, made):
    """Give a descriptor's file target's owner and group, as far as that is allowed, and its mode."""
    old, new = target.stat(), os.fstat(made)
    mode = stat.S_IMODE(old.st_mode)
    for owner, group in ((old.st_uid, -1), (-1, old.st_gid)):
        with contextlib.suppress(OSError):
            if (owner, group) not in ((new.st_uid, -1), (-1, new.st_gid)):
                os.fchown(made, owner, group)
    if os.fstat(made).st_gid != old.st_gid:
        mode &= ~stat.S_IRWXG  # what one group was allowed is not for another
    os.fchmod(made, mode)


def _remove(path):
    with contextlib.suppress(FileNotFoundError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
