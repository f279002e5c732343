"""Model files: round trips, errors, and no incomplete files."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gpukit import persist
from gpukit.errors import DataError, ModelError, ParameterError

ARRAYS = {
    "factors": np.arange(12, dtype=np.float32).reshape(3, 4),
    "ids": np.array(["ann", "bob", "çelik"]),
    "empty": np.zeros((0, 4), np.int32),
    "big": np.arange(5000, dtype=np.int64),
}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "a.gpukit"
    persist.save_arrays(path, {"class": "LSHMF", "rank": 3}, ARRAYS)
    return path


def test_arrays_and_header_come_back(saved):
    header, arrays = persist.load_arrays(saved)
    assert header["class"] == "LSHMF" and header["rank"] == 3
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)
    assert [p.name for p in saved.parent.iterdir()] == ["a.gpukit"]


def test_objects_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="'odd'"):
        persist.save_arrays(tmp_path / "m", {}, {"odd": np.array([None, {}])})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("keep", [5, 0.3, 0.9, -1])
def test_a_truncated_file(saved, keep):
    whole = saved.read_bytes()
    saved.write_bytes(whole[: int(keep * len(whole)) if isinstance(keep, float) else keep])
    with pytest.raises(ModelError, match="damaged or cut short"):
        persist.load_arrays(saved)


def test_a_flipped_byte(saved):
    whole = bytearray(saved.read_bytes())
    whole[len(whole) // 2] ^= 1
    saved.write_bytes(whole)
    with pytest.raises(ModelError, match="damaged"):
        persist.load_arrays(saved)


@pytest.mark.parametrize("content", [b"", b"1::2::3\n", b"\x93NUMPY"])
def test_not_a_model(tmp_path, content):
    path = tmp_path / "ratings.dat"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="not a gpukit model"):
        persist.load_arrays(path)


def test_another_format_names_both_versions(saved, monkeypatch):
    monkeypatch.setattr(persist, "FORMAT", 99)
    with pytest.raises(ModelError, match=r"format 3, .*reads format 99"):
        persist.load_arrays(saved)


def test_missing_file_and_folder_instead_of_file(tmp_path):
    with pytest.raises(DataError, match="no model file"):
        persist.load_arrays(tmp_path / "none")
    with pytest.raises(DataError, match="not a file"):
        persist.load_arrays(tmp_path)
    with pytest.raises(DataError, match="cannot read xxx.*: File name too long"):
        persist.load_arrays("x" * 300)


def test_missing_folder_says_which(tmp_path):
    with pytest.raises(DataError, match=r"no_such does not exist.*mkdir"):
        persist.save_arrays(tmp_path / "no_such" / "m", {}, {})


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("kept")
    with pytest.raises(DataError, match=r"cannot write .*file/m: .*file is a file, not a folder. Give another folder"):
        persist.check_writable(tmp_path / "file" / "m")


@pytest.mark.parametrize(
    "magic, title",
    [
        (b"GPUKITR1", "a binary copy of ratings (.gkr)"),
        (b"GPUKITL1", "a binary copy of documents (.gkl)"),
        (b"GPUKITB1", "a basis of a graph"),
    ],
)
def test_other_files_of_gpukit_are_named_for_what_they_are(tmp_path, magic, title):
    (tmp_path / "file").write_bytes(magic + bytes(100))
    with pytest.raises(ModelError, match=re.escape(f"file is {title} written by gpukit, not a gpukit model.")):
        persist.load_model(tmp_path / "file")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a folder that takes no files whatever the rights")
def test_a_folder_that_takes_no_file_is_refused_before_the_work():
    with pytest.raises(DataError, match="cannot write /proc/m: no file can be created in /proc .*Give another folder"):
        persist.check_writable("/proc/m")


def test_a_folder_is_not_a_file_name(tmp_path):
    for name in (tmp_path, f"{tmp_path}/new/"):
        with pytest.raises(DataError, match="is a folder"), persist.atomic_write(name):
            pass


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    target = tmp_path / "out.csv"
    target.write_text("old")
    with pytest.raises(error), persist.atomic_write(target) as aside:
        aside.write_text("new, but not all of it")
        raise error
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_success_replaces_the_file_and_follows_links(tmp_path):
    target, link = tmp_path / "real.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    with persist.atomic_write(link) as aside:
        aside.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new" and link.is_symlink()


def test_names_that_cannot_be_written_say_why(tmp_path):
    for name, words in (("a" * 256, "too long"), ("circle", "symbolic link|Symlink loop")):
        (tmp_path / "circle").unlink(missing_ok=True)
        (tmp_path / "circle").symlink_to(tmp_path / "circle")
        with pytest.raises(DataError, match=f"cannot write .*({words})"), persist.atomic_write(tmp_path / name):
            pass


def test_a_file_that_is_read_only_is_not_replaced(tmp_path, monkeypatch):
    (tmp_path / "m").write_text("old")
    monkeypatch.setattr(persist.os, "access", lambda path, mode: Path(path).is_dir())  # root may write anything
    with pytest.raises(DataError, match="read-only"), persist.atomic_write(tmp_path / "m"):
        pass


def test_a_link_to_nothing_yet_is_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with persist.atomic_write(tmp_path / "link") as place:
        place.write_text("new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "new"


def test_a_full_disk_is_a_data_error(tmp_path):
    with pytest.raises(DataError, match="cannot write .*No space"), persist.atomic_write(tmp_path / "m"):
        raise OSError(28, "No space left on device")


@pytest.fixture
def device(tmp_path):
    """Return device("null") -> a link to /dev/null, so that a fault in the tested code does not remove the device."""

    def link(name):
        path = tmp_path / name
        path.symlink_to(f"/dev/{name}")
        return path

    return link


def test_a_device_is_written_directly(device):
    null = device("null")
    with persist.atomic_write(null) as path:
        path.write_text("x")
        assert path == null
    full = device("full")
    with pytest.raises(DataError, match="cannot write .*full: No space"):
        persist.save_arrays(full, {}, ARRAYS)
    assert null.is_symlink() and full.is_symlink()


@pytest.mark.parametrize("arrays", [{"a": np.arange(5000), "b": np.zeros(0)}, ARRAYS])
def test_a_model_to_a_device(device, arrays):
    null = device("null")
    persist.save_arrays(null, {}, arrays)
    assert null.is_symlink() and os.path.samefile(null, os.devnull)


def test_a_model_through_a_pipe(saved, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        persist.save_arrays(pipe, {"class": "LSHMF", "rank": 3}, ARRAYS)
        (tmp_path / "copy").write_bytes(reader.stdout.read())
    header, arrays = persist.load_arrays(tmp_path / "copy")
    assert header == persist.load_header(saved)
    assert all(np.array_equal(arrays[name], array) for name, array in ARRAYS.items())
    assert pipe.is_fifo()  # neither replaced nor removed


def test_ctrl_c_while_writing_leaves_no_file(tmp_path):
    script = (
        "import sys, time\nfrom gpukit.persist import atomic_write\n"
        "with atomic_write(sys.argv[1]) as aside:\n"
        "    aside.write_text('half'); print('writing', flush=True); [time.sleep(0.01) for _ in range(6000)]\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "m")], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline() == b"writing\n"
    assert len(os.listdir(tmp_path)) == 1
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert os.listdir(tmp_path) == []


def test_load_model_refuses_a_class_it_does_not_know(tmp_path):
    persist.save_arrays(tmp_path / "m", {"class": "Oracle"}, {})
    with pytest.raises(ModelError, match="holds a Oracle.*LSHMF"):
        persist.load_model(tmp_path / "m")


def test_load_model_asks_the_class_in_the_header(saved, monkeypatch):
    import gpukit

    class Fake:
        load = staticmethod(lambda path: ("loaded", path))

    monkeypatch.setitem(vars(gpukit), "LSHMF", Fake)
    assert persist.load_model(saved) == ("loaded", saved)


def test_the_header_alone(saved):
    header = persist.load_header(saved)
    assert header["format"] == persist.FORMAT and json.dumps(header)


def test_a_checkpoint_is_no_model_and_says_what_it_is_for(tmp_path):
    path = tmp_path / "half.ck"
    persist.save_arrays(path, {"class": "checkpoint"}, {"state.U": np.zeros(3)})
    with pytest.raises(ModelError, match="is a checkpoint, not a model: .* --checkpoint .*half.ck --resume"):
        persist.load_model(path)


@pytest.mark.parametrize("is_there", [False, True])
def test_what_is_written_replaces_all_of_a_file(tmp_path, is_there):
    path = tmp_path / "f"
    if is_there:
        path.write_bytes(b"longer than the new content")
    with persist.atomic_open(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new" and os.listdir(tmp_path) == ["f"]


@pytest.mark.parametrize(
    "changes, message",
    [
        ({}, None),
        ({"share": None}, None),
        ({"more": 1}, "'more' in its header is nothing that is kept of a training"),
        ({"count": None}, "its header lacks 'count'"),
        ({"count": 2.0}, "'count' in its header is 2.0"),
        ({"share": "all"}, "'share' in its header is 'all'"),
        ({"timings": {"training": "long"}}, "'training' in its header is 'long'"),
    ],
)
def test_facts_of_a_file_are_checked(changes, message):
    kinds = {"count": int, "timings": dict, "share": float}
    facts = {"count": 2, "timings": {"training": 1.5}, "share": 0.5}
    facts = {name: value for name, value in (facts | changes).items() if value is not None}
    model = SimpleNamespace()
    with nullcontext() if message is None else pytest.raises(DataError, match=message):
        persist.restore_facts(model, facts, kinds, optional=("share",))
        assert persist.facts_of(model, kinds) == facts
