"""`gpukit predict`: pairs in, csv out."""

import csv
import io

import numpy as np
import pytest
from cli_support import write_rows

from gpukit.persist import load_arrays, load_model, save_arrays


@pytest.fixture
def pairs(tmp_path):
    """Known pairs, and two with an unknown item or user.

    A third column is ignored.
    """
    return write_rows(tmp_path / "pairs.csv", [(100, "a01", 9), (104, "a39", 9), (101, "new", 9), (7, "a02", 9)])


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_predictions_on_stdout_in_the_order_of_the_pairs(verb, model_file, pairs):
    result = verb("predict", model_file, pairs, "--device", "cpu")
    rows = rows_of(result.out)
    assert [(row["user"], row["item"]) for row in rows] == [
        ("100", "a01"),
        ("104", "a39"),
        ("101", "new"),
        ("7", "a02"),
    ]
    users, items = np.array([100, 104, 101, 7]), np.array(["a01", "a39", "new", "a02"])
    expected = load_model(model_file).predict((users, items))
    assert [float(row["prediction"]) for row in rows] == pytest.approx(expected.tolist(), abs=5.1e-5)
    assert "Of 4 pairs, 1 are of users and 1 of items without a training rating" in result.err
    assert "On cpu" in result.err and "predicting" in result.err


def test_predictions_to_a_file_in_tiles(verb, model_file, pairs, tmp_path, monkeypatch):
    whole = verb("predict", model_file, pairs, "--quiet")
    assert whole.err == ""
    monkeypatch.setattr("gpukit.cli.factorization.predict.TILE", 3)
    monkeypatch.setattr("gpukit.io.tables.VALUES", 6)
    result = verb("predict", model_file, pairs, "--output", tmp_path / "out.csv")
    assert result.out == "" and (tmp_path / "out.csv").read_text() == whole.out


# --- errors in one line


def test_pairs_that_cannot_be_read(refused, model_file, tmp_path):
    assert "does not exist" in refused("predict", model_file, tmp_path / "none.csv")
    (tmp_path / "empty.csv").write_text("")
    assert "empty" in refused("predict", model_file, tmp_path / "empty.csv")
    one = write_rows(tmp_path / "one.csv", [(1, "a"), (2,)])
    assert "line 2" in refused("predict", model_file, one)


def test_output_is_checked_first(refused, model_file, pairs, tmp_path, monkeypatch):
    monkeypatch.setattr("gpukit.persist.load_model", lambda *_: pytest.fail("the work had begun"))
    assert "does not exist" in refused("predict", model_file, pairs, "--output", tmp_path / "no" / "out.csv")
    assert "overwrite" in refused("predict", model_file, pairs, "--output", pairs)


USES = [("predict", "pairs.csv"), ("recommend", "--user", "100"), ("similar", "--item", "a01")]


@pytest.mark.parametrize("verb_and_options", USES)
class TestModelsThatCannotBeLoaded:
    """The three verbs that load a model reject the same files equally."""

    def ask(self, refused, path, verb_and_options):
        return refused(verb_and_options[0], path, *verb_and_options[1:])

    def test_missing(self, refused, tmp_path, verb_and_options):
        assert "no model file" in self.ask(refused, tmp_path / "none", verb_and_options)

    def test_not_a_model(self, refused, ratings_file, verb_and_options):
        assert "not a gpukit model" in self.ask(refused, ratings_file, verb_and_options)

    def test_truncated(self, refused, model_file, tmp_path, verb_and_options):
        path = tmp_path / "cut"
        path.write_bytes(model_file.read_bytes()[:-200])
        assert "damaged or cut short" in self.ask(refused, path, verb_and_options)

    def test_another_version(self, refused, model_file, tmp_path, monkeypatch, verb_and_options):
        header, arrays = load_arrays(model_file)
        with monkeypatch.context() as patch:
            patch.setattr("gpukit.persist.FORMAT", 99)
            save_arrays(tmp_path / "new", header, arrays)
        assert "model format 99" in self.ask(refused, tmp_path / "new", verb_and_options)

    def test_a_checkpoint_is_no_model(self, refused, tmp_path, verb_and_options):
        save_arrays(tmp_path / "ck", {"class": "checkpoint"}, {})
        line = self.ask(refused, tmp_path / "ck", verb_and_options)
        assert "is a checkpoint, not a model" in line and f"--checkpoint {tmp_path / 'ck'} --resume" in line

    def test_cuda_without_a_gpu(self, refused, model_file, monkeypatch, verb_and_options):
        monkeypatch.setattr("gpukit.device.place.gpu_count", lambda: 0)
        line = self.ask(lambda *arguments: refused(*arguments, "--device", "cuda"), model_file, verb_and_options)
        assert "--device cpu" in line
