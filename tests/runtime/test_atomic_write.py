"""Atomic writes: whole files, stale files, files of running processes."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from gpukit.runtime import atomic_write

WRITER = (
    "import sys, time\nfrom pathlib import Path\nfrom gpukit.runtime.atomic_write import replace_atomically\n"
    "with replace_atomically(Path(sys.argv[1]), folder=bool(sys.argv[2:])) as path:\n"
    "    if path.is_dir():\n        path = path / 'x'\n"
    "    path.write_text('half'); print('writing', flush=True); [time.sleep(0.01) for _ in range(6000)]\n"
)


@pytest.fixture
def start_writer(tmp_path):
    """Return a function (name, [folder]) that starts a process writing a file or folder."""
    processes = []

    def start(*arguments):
        command = [sys.executable, "-c", WRITER, str(tmp_path / arguments[0]), *arguments[1:]]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        assert processes[-1].stdout.readline() == b"writing\n"
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("kind", [(), ("folder",)])
@pytest.mark.parametrize("name", ["same", "other"])
def test_stale_files_of_a_killed_process_are_removed_by_the_next_write(tmp_path, start_writer, kind, name):
    process = start_writer("same", *kind)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert [atomic_write.is_temporary(name) for name in os.listdir(tmp_path)] == [True]
    with atomic_write.replace_atomically(tmp_path / name) as path:
        path.write_text("whole")
    assert os.listdir(tmp_path) == [name] and (tmp_path / name).read_text() == "whole"


@pytest.mark.parametrize("kind", [(), ("folder",)])
def test_files_of_a_running_process_stay(tmp_path, start_writer, kind):
    process = start_writer("a", *kind)
    with atomic_write.replace_atomically(tmp_path / "b") as path:
        path.write_text("whole")
    assert process.poll() is None and sorted(map(atomic_write.is_temporary, os.listdir(tmp_path))) == [False, True]


def test_concurrent_writes_in_one_process(tmp_path):
    target = tmp_path / "a"
    with atomic_write.replace_atomically(target) as first, atomic_write.replace_atomically(target) as second:
        first.write_text("first")
        second.write_text("second")
    assert os.listdir(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "first"


def test_other_files_stay(tmp_path):
    names = {".x.0123abcd.tmp", "x.0123abcd.gpukit-part", ".x.gpukit-part", ".x.0123abcg.gpukit-part"}
    for name in names:
        (tmp_path / name).touch()
    atomic_write.remove_stale(tmp_path)
    assert set(os.listdir(tmp_path)) == names


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o755])
def test_the_mode_of_a_replaced_file_is_kept_from_the_start(tmp_path, mode):
    target = tmp_path / "m"
    target.touch()
    target.chmod(mode)
    with atomic_write.replace_atomically(target) as path:
        assert stat.S_IMODE(path.stat().st_mode) == mode
        path.write_text("new")
    assert stat.S_IMODE(target.stat().st_mode) == mode and target.read_text() == "new"


def test_a_new_file_has_the_usual_mode(tmp_path):
    (tmp_path / "usual").touch()
    with atomic_write.replace_atomically(tmp_path / "m") as path:
        path.write_text("new")
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the owner of a file")
def test_the_owner_of_a_replaced_file_is_kept(tmp_path):
    target = tmp_path / "m"
    target.touch()
    target.chmod(0o640)
    os.chown(target, 12345, 23456)
    with atomic_write.replace_atomically(target) as path:
        path.write_text("new")
    status = target.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (12345, 23456, 0o640)


def test_a_new_group_gets_no_rights_of_the_old_one(tmp_path, monkeypatch):
    target = tmp_path / "m"
    target.touch()
    target.chmod(0o664)
    monkeypatch.setattr(atomic_write.os, "fchown", lambda *_: (_ for _ in ()).throw(PermissionError()))
    foreign = os.stat_result([*target.stat()[:5], target.stat().st_gid + 1, *target.stat()[6:10]])
    monkeypatch.setattr(type(target), "stat", lambda self, **_: foreign)
    with open(tmp_path / "made", "w") as file:
        atomic_write._copy_ownership(target, file.fileno())
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o604


@pytest.mark.parametrize("name", ["a" * 245, "a" * 255, "ä" * 127, "x" + "語" * 84])
def test_names_of_the_maximum_length(tmp_path, name):
    with atomic_write.replace_atomically(tmp_path / name) as path:
        path.write_text("new")
        assert len(os.fsencode(path.name)) <= 255
    assert os.listdir(tmp_path) == [name]


def test_a_file_removed_before_it_was_locked_is_created_again(tmp_path, monkeypatch):
    lock, removed = atomic_write.fcntl.flock, []

    def remove_before_lock(descriptor, operation):
        if not removed:
            removed.extend(os.listdir(tmp_path))
            (tmp_path / removed[0]).unlink()
        lock(descriptor, operation)

    monkeypatch.setattr(atomic_write.fcntl, "flock", remove_before_lock)
    with atomic_write.replace_atomically(tmp_path / "m") as path:
        assert path.exists()
        path.write_text("new")
    assert removed and (tmp_path / "m").read_text() == "new"
