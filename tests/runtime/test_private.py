"""Caches that other users could change: links, owners, modes, swapped folders."""

import os
import stat
from pathlib import Path

import pytest

from gpukit import _cache
from gpukit.runtime import private


@pytest.fixture
def of_another(monkeypatch):
    """Return a function that makes a file, folder or link appear to belong to another user."""
    owner_of, others = private.owner_of, set()
    monkeypatch.setattr(private, "owner_of", lambda status: 12345 if status.st_ino in others else owner_of(status))
    return lambda path: others.add(path.lstat().st_ino)


@pytest.fixture
def cache(tmp_path):
    """A folder with a file `entry`, and a world-writable folder `open` with the sticky bit."""
    (tmp_path / "home" / "cache").mkdir(parents=True)
    (tmp_path / "home" / "cache" / "entry").write_bytes(b"content")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o1777)
    return tmp_path / "home" / "cache"


def content(folder):
    with private.open_private_file(folder / "entry") as stream:
        return stream.read()


@pytest.mark.filterwarnings("ignore:The cache")
def test_the_owner_and_the_folder_of_a_link_are_checked(cache, tmp_path, of_another):
    link = tmp_path / "open" / "link"
    link.symlink_to(cache)
    assert content(cache) == content(link) == b"content"
    (tmp_path / "open").chmod(0o777)  # users with write access can replace the link
    with pytest.raises(PermissionError, match="open may be changed"):
        content(link)
    (tmp_path / "open").chmod(0o1777)
    of_another(link)
    with pytest.raises(PermissionError, match="link belongs to another user"):
        content(link)
    assert content(cache) == b"content"


@pytest.mark.filterwarnings("ignore:The cache")
def test_all_links_of_a_path_are_checked(cache, tmp_path, of_another):
    (tmp_path / "first").symlink_to("open/second")
    (tmp_path / "open" / "second").symlink_to("../home")
    (tmp_path / "home" / "third").symlink_to(cache)
    folder = tmp_path / "first" / "third"
    assert content(folder) == b"content"
    of_another(tmp_path / "open" / "second")
    with pytest.raises(PermissionError, match="second belongs to another user"):
        content(folder)


@pytest.mark.filterwarnings("ignore:The cache")
def test_the_target_of_a_link_is_checked(cache, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(cache)
    (tmp_path / "home").chmod(0o777)
    with pytest.raises(PermissionError, match="home may be changed"):
        content(link)


def test_cyclic_links_are_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        private.folder_fault(tmp_path / "a")


@pytest.mark.filterwarnings("ignore:The cache")
def test_a_relative_folder_is_checked_in_the_working_directory(cache, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path / "home")
    assert content(Path("cache")) == b"content"
    (tmp_path / "other" / "cache").mkdir(parents=True)
    (tmp_path / "other" / "cache" / "entry").write_bytes(b"forged")
    (tmp_path / "other").chmod(0o777)
    monkeypatch.chdir(tmp_path / "other")
    with pytest.raises(PermissionError, match="other may be changed"):
        content(Path("cache"))


@pytest.mark.filterwarnings("ignore:The cache")
@pytest.mark.parametrize("name", ["a fifo", "a link", "a folder", "a hard link of another's"])
def test_entries_that_are_not_files_of_this_user_are_not_read(cache, tmp_path, of_another, name):
    entry = cache / "entry"
    entry.unlink()
    (tmp_path / "other").write_bytes(b"forged")
    if name == "a fifo":
        os.mkfifo(entry)
    elif name == "a link":
        entry.symlink_to(tmp_path / "other")
    elif name == "a folder":
        entry.mkdir()
    else:
        os.link(tmp_path / "other", entry)
        of_another(tmp_path / "other")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError):
        content(cache)
    assert len(os.listdir("/proc/self/fd")) <= before  # fewer after a garbage collection


@pytest.mark.filterwarnings("ignore:The cache")
def test_nothing_is_created_below_a_folder_of_others(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(PermissionError):
        private.make_folder(tmp_path / "open" / "cache" / "code")
    assert not list((tmp_path / "open").iterdir())
    (tmp_path / "open").chmod(0o1777)
    private.make_folder(tmp_path / "open" / "cache" / "code")
    assert stat.S_IMODE((tmp_path / "open" / "cache").stat().st_mode) == 0o700


def test_a_new_folder_has_its_mode_at_once(tmp_path, monkeypatch):
    """Nothing changes the mode later: another user may have replaced the folder by a link."""
    monkeypatch.setattr(os, "chmod", None)
    before = os.umask(0)
    try:
        private.make_folder(tmp_path / "cache" / "code")
    finally:
        os.umask(before)
    for path in (tmp_path / "cache", tmp_path / "cache" / "code"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_a_new_file_is_private_from_its_creation_on(tmp_path):
    """A process that opens a writable file keeps write access after the mode has changed."""
    file = tmp_path / "cache" / "entry"
    private.make_folder(file.parent)
    file.write_bytes(b"old")
    file.chmod(0o666)
    before = os.umask(0)
    try:
        with private.replace_private_file(file) as path:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            path.write_bytes(b"new")
    finally:
        os.umask(before)
    assert file.read_bytes() == b"new" and stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.filterwarnings("ignore:The cache")
def test_old_entries_of_a_folder_that_others_may_change_stay(tmp_path, monkeypatch):
    """Another user may redirect the clean-up by a link."""
    monkeypatch.setenv("GPUKIT_CACHE", str(tmp_path / "cache"))
    folder = _cache.cache_folder()
    private.make_folder(folder)
    old = folder / f"a.b-{'0' * 32}-{'0' * 32}.nbc"
    old.write_bytes(b"")
    os.utime(old, (0, 0))
    folder.parent.chmod(0o777)
    _cache._remove_unused.__wrapped__()
    assert old.exists()
    folder.parent.chmod(0o700)
    _cache._remove_unused.__wrapped__()
    assert not old.exists()
