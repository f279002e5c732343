"""Folders and files of a cache that only this user and root can change.

Cached code is executed and a cached basis is trusted, so both are read only where no other user can write. The file and
each folder above it must belong to this user or to root, and neither group nor others may write to them. A parent
folder with the sticky bit, such as /tmp, is accepted, because others cannot rename or remove foreign files in it. For a
symbolic link in the path, its owner, its folder and its target are checked.
"""

import contextlib
import errno
import functools
import os
import stat
import tempfile
import warnings
from pathlib import Path

from gpukit.errors import ParameterError
from gpukit.runtime.atomic_write import replace_atomically

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def base_folder():
    """Return the folder of all caches: $GPUKIT_CACHE, or gpukit/ in the user's cache folder.

    Without a home directory it is in the folder for temporary files. Raises ParameterError if GPUKIT_CACHE names the
    home of an unknown user.
    """
    configured = os.environ.get("GPUKIT_CACHE")
    try:
        if configured:
            return Path(configured).expanduser()
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "gpukit"
    except RuntimeError:
        if configured:
            raise ParameterError(
                f"GPUKIT_CACHE={configured!r} names the home directory of an unknown user. Correct it, or unset it."
            ) from None
        return Path(tempfile.gettempdir(), f"gpukit-{os.geteuid()}")


def make_folder(folder):
    """Create a folder and its missing parents with mode 0700.

    Creates nothing below an untrusted folder. Raises PermissionError, after a warning, if other users can change the
    folder's content.
    """
    folder = Path(folder)
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = folder.parent
    fault = folder_fault(folder, is_above=bool(missing))
    for path in reversed(missing if fault is None else ()):
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
    fault = fault or folder_fault(missing[0] if missing else folder)
    if fault:
        warn_once(f"{missing[0] if missing else folder}", fault)
        raise PermissionError(fault)


@contextlib.contextmanager
def replace_private_file(file):
    """Yield the path of a temporary file that replaces `file`, or a link, on success.

    Its mode is 0600. Raises PermissionError if other users can change the folder, OSError if it cannot be written.
    """
    file = Path(file)
    make_folder(file.parent)
    with replace_atomically(file, mode=0o600) as path:
        yield path


@contextlib.contextmanager
def open_private_file(file):
    """Yield the binary stream of a regular file that only this user and root can change.

    Raises OSError if there is no such file, PermissionError if other users can change it or a folder above it.
    """
    file = Path(file)
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        fault = _fault(status) or folder_fault(file.parent)
        if not fault and not stat.S_ISREG(status.st_mode):
            fault = "is not a regular file"
        if fault:
            warn_once(f"{file.parent}", fault)
            raise PermissionError(fault)
        with open(descriptor, "rb", closefd=False) as stream:
            yield stream
    finally:
        os.close(descriptor)


def folder_fault(folder, is_above=False):
    """Return why other users can change a folder's content, or None.

    is_above: check access to the content of a folder below it. Not cached, because a relative path depends on the
    working directory.
    """
    *above, last = _resolve(folder)
    for path in (*above, last):
        status = os.lstat(path)
        sticky = (path != last or is_above) and status.st_mode & stat.S_ISVTX
        open_to_others = stat.S_ISLNK(status.st_mode) or sticky  # the mode of a link has no meaning
        if not stat.S_ISLNK(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        fault = _fault(status, 0 if open_to_others else WRITABLE_BY_OTHERS)
        if fault:
            return f"{path} {fault}"
    return None


def _resolve(folder):
    """Return the folders and links of a folder's path, from / to the folder itself."""
    current, rest = Path("/"), list(Path(os.getcwd(), folder).parts[::-1])
    path, links, most = [Path("/")], 0, 40  # links, as in Linux
    while rest:
        part = rest.pop()
        current = current.parent if part == ".." else current / part  # the / of an absolute link restarts at the root
        path.append(current)
        if current.is_symlink():
            links += 1
            if links > most:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(folder))
            rest += Path(os.readlink(current)).parts[::-1]
            current = current.parent
    return [*path, current]


def owner_of(status):
    """Return the user id in an os.stat_result."""
    return status.st_uid


def _fault(status, forbidden=WRITABLE_BY_OTHERS):
    """Return why other users can change the file, folder or link of an os.stat_result, or None."""
    if owner_of(status) not in (0, os.geteuid()):
        return f"belongs to another user ({owner_of(status)})"
    if status.st_mode & forbidden:
        return f"may be changed by its group or by others (mode {stat.S_IMODE(status.st_mode):o})"
    return None


@functools.cache
def warn_once(folder, fault):
    """Warn once per process that a cache folder is not used."""
    fault = fault if fault.startswith("/") else f"a file in it {fault}"
    warnings.warn(
        f"The cache {folder} is not used: {fault}. Its content is "
        "recomputed. Remove the permission (chmod go-w), or set GPUKIT_CACHE to a folder of your own.",
        stacklevel=2,
    )
