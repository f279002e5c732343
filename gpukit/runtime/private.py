"""Folders and files of a cache that nobody but this user and root can change.

Cached code is executed, and a cached basis is believed, so both are read only where no other user may write: the file
and each folder above it belong to this user or to root, and neither group nor others may write to them. A folder above
with the sticky bit, such as /tmp, is accepted: others cannot rename or remove what is not theirs there. Of symbolic
links on the way the owner counts, and the folders that they are in and lead to.
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
from gpukit.runtime import atomic_write

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
MOST_LINKS = 40  # of a path, as Linux has it


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
    """Create a folder and those missing above it, all with mode 0700 whatever the umask; none below an untrusted one.

    Raises PermissionError, after a warning, where others may change what is in the folder.
    """
    folder = Path(folder)
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = folder.parent
    fault = folder_fault(folder, is_above=bool(missing))
    for one in reversed(missing if fault is None else ()):
        with contextlib.suppress(FileExistsError):
            os.mkdir(one, 0o700)
            _restore_mode(one)
    fault = fault or folder_fault(missing[0] if missing else folder)
    if fault:
        warn_once(f"{missing[0] if missing else folder}", fault)
        raise PermissionError(fault)


def _restore_mode(folder):
    """Give a new folder the bits of 0700 that the umask took; the folder that was opened, not what is there now."""
    if os.lstat(folder).st_mode & stat.S_IRWXU == stat.S_IRWXU:
        return
    descriptor = os.open(folder, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if owner_of(os.fstat(descriptor)) == os.geteuid():
            os.chmod(f"/proc/self/fd/{descriptor}", 0o700)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def replacing(file):
    """The path of a new file with mode 0600 that takes the place of `file`, a link too, when all went well.

    Raises PermissionError where others may change what is in its folder, OSError where it cannot be written.
    """
    file = Path(file)
    make_folder(file.parent)
    with atomic_write.replacing(file, mode=0o600) as place:
        yield place


@contextlib.contextmanager
def opened_file(file):
    """Open a regular file, as a binary stream, that only this user and root can change.

    Raises OSError where there is none, PermissionError where others may change it or a folder above it.
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
    """Return why others may change what is in a folder (is_above: in one below it), or None.

    Asked each time: a relative path leads elsewhere once the process has changed its folder.
    """
    *above, last = _passed(folder)
    for path in (*above, last):
        status = os.lstat(path)
        sticky = (path != last or is_above) and status.st_mode & stat.S_ISVTX
        open_to_others = stat.S_ISLNK(status.st_mode) or sticky  # the mode of a link says nothing
        if not stat.S_ISLNK(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        fault = _fault(status, 0 if open_to_others else WRITABLE_BY_OTHERS)
        if fault:
            return f"{path} {fault}"
    return None


def _passed(folder):
    """Return the folders and symbolic links that the path of a folder goes through, from / to the folder itself."""
    here, rest = Path("/"), list(Path(os.getcwd(), folder).parts[::-1])
    passed, links = [Path("/")], 0
    while rest:
        part = rest.pop()
        here = here.parent if part == ".." else here / part  # an absolute link begins anew
        passed.append(here)
        if here.is_symlink():
            links += 1
            if links > MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(folder))
            rest += Path(os.readlink(here)).parts[::-1]
            here = here.parent
    return [*passed, here]


def owner_of(status):
    """Return the user id in an os.stat_result."""
    return status.st_uid


def _fault(status, forbidden=WRITABLE_BY_OTHERS):
    """Return why a file, folder or link of this os.stat_result may be changed by others, or None."""
    if owner_of(status) not in (0, os.geteuid()):
        return f"belongs to another user ({owner_of(status)})"
    if status.st_mode & forbidden:
        return f"may be changed by its group or by others (mode {stat.S_IMODE(status.st_mode):o})"
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
