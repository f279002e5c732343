"""The ranking of lists, trained once and stored in the model file.

It is stored if the file is writable.
"""

import json
import os
import shutil

import numpy as np
import pytest
from cli_support import CPU, NAMED

from gpukit.cli import models
from gpukit.persist import load_model


@pytest.fixture
def fresh(verb, ratings_file, tmp_path):
    """Return a model file without the ranking of lists."""
    path = tmp_path / "fresh.gpukit"
    assert verb("train-lshmf", ratings_file, *NAMED, "--model", path).code == 0
    assert not load_model(path).has_lists
    return path


def asked(verb, path, *options):
    return verb("recommend", path, "--user", 103, "-n", 4, *options, *CPU)


def test_learned_at_first_and_kept(verb, fresh):
    first, second = asked(verb, fresh), asked(verb, fresh)
    assert f"Learned what ranks lists and kept it in {fresh}." in first.err and "learning lists" in first.err
    assert "earned what" not in second.err and first.out == second.out
    model = load_model(fresh)
    assert model.has_lists and first.out.split()[6] == str(model.recommend([103], 1)[0][0, 0])


def test_by_rating_learns_nothing(verb, fresh):
    before = fresh.read_bytes()
    rows = json.loads(asked(verb, fresh, "--by", "rating", "--json").out)["recommendations"]
    assert fresh.read_bytes() == before
    ids, scores = load_model(fresh).recommend([103], 4, by="rating")
    assert [row["item"] for row in rows] == ids[0].tolist()
    np.testing.assert_allclose([row["score"] for row in rows], scores[0], rtol=1e-6)


def test_train_lshmf_learns_them_on_request(verb, ratings_file, tmp_path):
    path = tmp_path / "m.gpukit"
    result = verb("train-lshmf", ratings_file, *NAMED, "--model", path, "--lists")
    assert result.code == 0 and "learning lists" in result.out and load_model(path).has_lists


def test_lists_without_a_model_are_refused(refused, ratings_file):
    assert "--lists" in refused("train-lshmf", ratings_file, "--lists")


def test_a_model_that_was_replaced_meanwhile_stays(verb, fresh, tmp_path, monkeypatch):
    other = tmp_path / "other.gpukit"
    shutil.copy(fresh, other)
    stamp = models.stamp
    monkeypatch.setattr(models, "stamp", lambda path: (found := stamp(path), os.utime(path, ns=(1, len(found))))[0])
    before = fresh.read_bytes()
    result = asked(verb, fresh)
    assert "is another by now, and stays as it is" in result.err and fresh.read_bytes() == before


def test_a_model_that_may_not_be_written_stays(verb, fresh, monkeypatch):
    before = fresh.read_bytes()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    result = asked(verb, fresh)
    assert "may not be written" in result.err and result.code == 0 and fresh.read_bytes() == before
