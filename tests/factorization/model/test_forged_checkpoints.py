"""Forged checkpoints with valid checksums: rejected in one line before training."""

import functools

import numpy as np
import pytest
from base.test_forged import changed, forgeries, places

from factorization.inputs import make, planted
from factorization.model.test_saving import interrupted
from gpukit import persist
from gpukit.errors import ModelError
from gpukit.factorization import MatrixFactorization
from gpukit.factorization.model import saving

PARAMETERS = {"early_stopping": 3}  # the best state is stored if the user passes validation ratings


@functools.cache
def parts():
    """Return the Ratings for training and for validation; not on import, which every process does."""
    return planted().split(0.2, 0)


@pytest.fixture(scope="module")
def point(tmp_path_factory):
    path = tmp_path_factory.mktemp("point") / "point"
    interrupted(make(MatrixFactorization, **PARAMETERS), parts()[0], path, validation=parts()[1])
    return path


def refused(path, data):
    """Return the error message for a checkpoint; None if the training completes."""
    try:
        model = make(MatrixFactorization, **PARAMETERS)
        saving.load_checkpoint(path, model, data, parts()[0].shape, model.check())
    except ModelError as error:
        assert "\n" not in str(error) and str(path) in str(error)
        return str(error)
    return resumed(path)


def resumed(path):
    """As `refused`, through fit."""
    try:
        model = make(MatrixFactorization, **PARAMETERS)
        model.fit(parts()[0], validation=parts()[1], checkpoint=path, resume=True)
    except ModelError as error:
        assert "\n" not in str(error) and str(path) in str(error)
        return str(error)
    assert np.isfinite(model.predict(planted())).all()
    return None


def test_the_checkpoint_itself_is_sound(point):
    header, arrays = persist.load_arrays(point)
    assert {name.partition(".")[0] for name in arrays} == {"state", "best"} and header["epochs_done"] == 2
    assert resumed(point) is None


@pytest.mark.slow
def test_forged_arrays(point, tmp_path):
    header, arrays = persist.load_arrays(point)
    for which, array in arrays.items():
        for what, forged in {**forgeries(array), "lacking": None}.items():
            left = {name: one for name, one in {**arrays, which: forged}.items() if one is not None}
            persist.save_arrays(tmp_path / "forged", header, left)
            assert refused(tmp_path / "forged", header["data"]), f"{which}, {what}: was taken"


JUNK = (..., None, "x", [], {}, 1e9, -1, True, 2**70)


@pytest.mark.slow
def test_forged_headers(point, tmp_path):
    header, arrays = persist.load_arrays(point)
    fixed = {("class",), ("of",), ("parameters",), ("epochs_done",), ("history",), ("data",), ("format",)}
    rng = np.random.default_rng(0)
    for at in places(header):
        for value in rng.permutation(np.array(JUNK, dtype=object))[:3]:
            persist.save_arrays(tmp_path / "forged", changed(header, at, value), arrays)
            message = refused(tmp_path / "forged", header["data"])
            assert message or at not in fixed or at == ("format",), f"{at} = {value!r} was taken"
