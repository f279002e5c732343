"""Folders and files of a cache that nobody but this user and root can change.

Cached code is executed, and a cached basis is believed, so both are read only where no other user may write: the file
and each folder above it belong to this user or to root, and neither group nor others may write to them. A folder above
with the sticky bit, such as /tmp, is accepted: others cannot rename or remove what is not theirs there.
"""

import contextlib
import functools
import os
import stat
import tempfile
import warnings
from pathlib import Path

from gpukit.errors import ParameterError

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def base_folder():
    """Return the folder of all caches: $GPUKIT_CACHE, or gpukit/ in the user's cache folder.

    A user without a home has one in the folder for temporary files. Raises ParameterError for a ~ of nobody.
    """
    given = os.environ.get("GPUKIT_CACHE")
    try:
        if given:
            return Path(given).expanduser()
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "gpukit"
    except RuntimeError:
        if given:
            raise ParameterError(f"GPUKIT_CACHE={given!r} names the home of nobody. Correct it, or unset it.") from None
        return Path(tempfile.gettempdir(), f"gpukit-{os.geteuid()}")


def make_folder(folder):
    """Create a folder and those missing above it, all with mode 0700 whatever the umask."""
    folder = Path(folder)
    if not folder.is_dir():
        make_folder(folder.parent)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
            os.chmod(folder, 0o700)  # whatever the umask took


@contextlib.contextmanager
def opened_file(file):
    """Open a regular file, as a binary stream, that only this user and root can change.

    Raises OSError where there is none, PermissionError where others may change it or a folder above it.
    """
    file = Path(file)
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb") as stream:
        fault = _fault(os.fstat(descriptor)) or folder_fault(file.parent)
        if fault:
            warn_once(f"{file.parent}", fault)
            raise PermissionError(fault)
        yield stream


@functools.cache
def folder_fault(folder):
    """Return why others may change what is in a folder, or None; checked once a process."""
    folder = Path(os.path.realpath(folder))
    for above in (folder, *folder.parents):
        status = os.stat(above)
        sticky = above != folder and status.st_mode & stat.S_ISVTX
        fault = _fault(status, WRITABLE_BY_OTHERS if not sticky else 0)
        if fault:
            return f"{above} {fault}"
    return None


def _fault(status, forbidden=WRITABLE_BY_OTHERS):
    """Return why a file or folder of this os.stat_result may be changed by others, or None."""
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to another user ({status.st_uid})"
    if status.st_mode & forbidden:
        return f"may be changed by its group or by others (mode {stat.S_IMODE(status.st_mode):o})"
    if not stat.S_ISDIR(status.st_mode) and not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    return None


@functools.cache
def warn_once(folder, fault):
    """Warn once a process that a folder of a cache is not used."""
    fault = fault if fault.startswith("/") else f"a file in it {fault}"
    warnings.warn(
        f"The cache {folder} is not used: {fault}. Its content is "
        "computed anew. Remove the permission (chmod go-w), or set GPUKIT_CACHE to a folder of your own.",
        stacklevel=2,
    )
