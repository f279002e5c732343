"""Output files: checked first, written completely or not at all."""

import sys

import click
import numpy as np
import pytest

from gpukit.cli import outputs
from gpukit.errors import DataError, ParameterError


def test_a_good_path_passes(tmp_path):
    outputs.check_output(None, "--model")
    outputs.check_output(tmp_path / "new", "--model", [tmp_path / "missing"])
    outputs.check_output("/dev/null", "--output")


def test_folders_and_inputs_are_refused(tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("1,2,3\n")
    for path, words in ((tmp_path / "no" / "x", "does not exist"), (tmp_path, "is a folder"), (source, "overwrite")):
        with pytest.raises(DataError, match=words):
            outputs.check_output(path, "--model", [source])


def test_two_outputs_are_two_files(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "new")
    with click.Context(click.Command("x")):
        outputs.check_output(tmp_path / "new", "--model")
        outputs.check_output(tmp_path / "new", "--model")
        outputs.check_output("/dev/null", "--output")
        outputs.check_output("/dev/null", "--plot")
        for path in (tmp_path / "." / "new", tmp_path / "link"):
            with pytest.raises(DataError, match="is the file of --model too"):
                outputs.check_output(path, "--plot")


def test_a_size_counts_what_can_be_read(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"123")
    (tmp_path / "link").symlink_to(tmp_path / "link")
    assert outputs.size_of(tmp_path) == outputs.size_of(tmp_path / "file") == 3
    assert outputs.size_of("x" * 300) == outputs.size_of("-") == 0
    monkeypatch.setattr("os.path.isfile", lambda path: path != tmp_path)  # and then another process removes the link
    assert outputs.size_of(tmp_path) == 3


@pytest.mark.parametrize("name", ["lists.parquet", "lists.json", "lists.csv.gz"])
def test_plain_text_has_no_suffix_of_another_format(tmp_path, name):
    with pytest.raises(ParameterError, match="--output .*: the output is plain text"):
        outputs.check_output(tmp_path / name, "--output", text="plain")
    outputs.check_output(tmp_path / name, "OUT", text=True)


def test_pictures_need_matplotlib_and_a_known_ending(monkeypatch):
    outputs.check_plot(None)
    outputs.check_plot("curve.PNG")
    with pytest.raises(ParameterError, match=".png, .pdf or .svg"):
        outputs.check_plot("curve.docx")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ParameterError, match="pip install 'gpukit.plot.'"):
        outputs.check_plot("curve.png")


def test_csv_is_quoted_and_whole_or_absent(tmp_path):
    path = tmp_path / "out.csv"

    def stop():
        raise KeyboardInterrupt

    for blocks in ([lambda: [np.array([1]), ["x"]], stop], (block() for block in [lambda: stop, stop])):
        with pytest.raises(KeyboardInterrupt):
            outputs.write_csv(path, ["user", "title"], blocks)
        assert list(tmp_path.iterdir()) == []
    outputs.write_csv(path, ["user", "title"], [lambda: [np.array([1]), ['One, "two"']]])
    assert path.read_text() == 'user,title\n1,"One, ""two"""\n'
