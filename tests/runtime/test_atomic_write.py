"""Files made aside: whole or not at all; what dead processes left goes, what others are at work on stays."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from gpukit.runtime import atomic_write

MAKER = (
    "import sys, time\nfrom pathlib import Path\nfrom gpukit.runtime.atomic_write import replacing\n"
    "with replacing(Path(sys.argv[1]), folder=bool(sys.argv[2:])) as place:\n"
    "    if place.is_dir():\n        place = place / 'x'\n"
    "    place.write_text('half'); print('writing', flush=True); time.sleep(60)\n"
)


@pytest.fixture
def maker(tmp_path):
    """maker(name, ...) -> a process that is making a file, or with a further word a folder, of that name."""
    made = []

    def begin(*arguments):
        command = [sys.executable, "-c", MAKER, str(tmp_path / arguments[0]), *arguments[1:]]
        made.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        assert made[-1].stdout.readline() == b"writing\n"
        return made[-1]

    yield begin
    for process in made:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("kind", [(), ("folder",)])
@pytest.mark.parametrize("name", ["same", "other"])
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path, maker, kind, name):
    process = maker("same", *kind)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert [atomic_write.is_part(left) for left in os.listdir(tmp_path)] == [True]
    with atomic_write.replacing(tmp_path / name) as place:
        place.write_text("whole")
    assert os.listdir(tmp_path) == [name] and (tmp_path / name).read_text() == "whole"


@pytest.mark.parametrize("kind", [(), ("folder",)])
def test_what_a_living_process_is_making_stays(tmp_path, maker, kind):
    process = maker("a", *kind)
    with atomic_write.replacing(tmp_path / "b") as place:
        place.write_text("whole")
    assert process.poll() is None and sorted(map(atomic_write.is_part, os.listdir(tmp_path))) == [False, True]


def test_two_at_once_in_one_process(tmp_path):
    with atomic_write.replacing(tmp_path / "a") as one, atomic_write.replacing(tmp_path / "a") as other:
        one.write_text("first")
        other.write_text("second")
    assert os.listdir(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "first"


def test_other_files_stay(tmp_path):
    names = {".x.0123abcd.tmp", "x.0123abcd.gpukit-part", ".x.gpukit-part", ".x.0123abcg.gpukit-part"}
    for name in names:
        (tmp_path / name).touch()
    atomic_write.remove_dead(tmp_path)
    assert set(os.listdir(tmp_path)) == names


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o755])
def test_the_mode_of_what_is_replaced_is_kept_and_is_there_from_the_start(tmp_path, mode):
    target = tmp_path / "m"
    target.touch()
    target.chmod(mode)
    with atomic_write.replacing(target) as place:
        assert stat.S_IMODE(place.stat().st_mode) == mode
        place.write_text("new")
    assert stat.S_IMODE(target.stat().st_mode) == mode and target.read_text() == "new"


def test_a_new_file_has_the_usual_mode(tmp_path):
    (tmp_path / "usual").touch()
    with atomic_write.replacing(tmp_path / "m") as place:
        place.write_text("new")
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_of_what_is_replaced_is_kept(tmp_path):
    target = tmp_path / "m"
    target.touch()
    target.chmod(0o640)
    os.chown(target, 12345, 23456)
    with atomic_write.replacing(target) as place:
        place.write_text("new")
    found = target.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (12345, 23456, 0o640)


def test_where_the_group_cannot_be_kept_another_gets_none_of_its_rights(tmp_path, monkeypatch):
    target = tmp_path / "m"
    target.touch()
    target.chmod(0o664)
    monkeypatch.setattr(atomic_write.os, "fchown", lambda *_: (_ for _ in ()).throw(PermissionError()))
    foreign = os.stat_result([*target.stat()[:5], target.stat().st_gid + 1, *target.stat()[6:10]])
    monkeypatch.setattr(type(target), "stat", lambda self, **_: foreign)
    with open(tmp_path / "made", "w") as file:
        atomic_write._inherit(target, file.fileno())
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o604


@pytest.mark.parametrize("name", ["a" * 245, "a" * 255, "ä" * 127, "x" + "語" * 84])
def test_names_as_long_as_the_file_system_allows(tmp_path, name):
    with atomic_write.replacing(tmp_path / name) as place:
        place.write_text("new")
        assert len(os.fsencode(place.name)) <= 255
    assert os.listdir(tmp_path) == [name]


def test_a_file_taken_for_dead_before_it_was_locked_is_begun_anew(tmp_path, monkeypatch):
    lock, taken = atomic_write.fcntl.flock, []

    def late(descriptor, how):
        if not taken:
            taken.extend(os.listdir(tmp_path))
            (tmp_path / taken[0]).unlink()
        lock(descriptor, how)

    monkeypatch.setattr(atomic_write.fcntl, "flock", late)
    with atomic_write.replacing(tmp_path / "m") as place:
        place.write_text("new")
    assert taken and (tmp_path / "m").read_text() == "new"
