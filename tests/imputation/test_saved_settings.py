"""Settings of methods in a file: read unchanged, unknown ones rejected."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from gpukit import GraphImputer, persist
from gpukit.errors import DataError, ModelError, ParameterError
from gpukit.imputation import saving
from gpukit.imputation.auto.plan import BY_NAME
from gpukit.imputation.saving import setting_of

BANDS = [[0, 1.0, 2.0, 0.1], [8, 3.0, 2.0, 0.01]]
GOOD = {
    "kriging": {"bands": BANDS},
    "local": {"neighbors": 8},
    "seasonal": {"lag": 24, "memory": None},
    "trend": {"level": 0.0, "slope": 3.5},
    "smoothness": {"near": 0.1, "steady": 0.03, "together": 0.2, "repeats": [0.0, 0.01]},
    "regularized-em": {"lags": 1, "ridge": 0.01},
    "interpolation": {},
}
BAD = [
    ("local", {"neighbors": 9}, "neighbors of local must be an integer, between 1 and 8"),
    ("regularized-em", {"lags": 2}, "lags of regularized-em must be an integer, between 0 and 1"),
    ("smoothness", {"near": 0.0}, "near of smoothness must be a finite number, more than 0"),
    ("smoothness", {"repeats": [0.1] * 3}, "it is a list of 2 numbers or fewer"),
    ("smoothness", {"repeats": [-1.0]}, "repeats of smoothness must be a finite number"),
    ("seasonal", {"memory": -1.0}, "memory of seasonal must be a finite number"),
    ("seasonal", {"lag": 0}, "lag of seasonal must be an integer"),
    ("trend", {"level": -1.0}, "level of trend must be a finite number"),
    ("trend", {"slope": "3"}, "slope of trend must be a finite number"),
    ("regression", {"ridge": 1.0}, "the setting of regression in its header"),
    ("kriging", {"bands": []}, "bands of kriging in its header is []"),
    ("kriging", {"bands": [[0, 1.0, 2.0]]}, "it is a list of four numbers each"),
    ("kriging", {"bands": [[1, 1.0, 2.0, 0.1]]}, "do not rise from 0"),
    ("kriging", {"bands": [BANDS[0], BANDS[0]]}, "do not rise from 0"),
    ("kriging", {"bands": [[0, 1.0, 2.0, 0.0]]}, "must be a finite number, more than 0"),
    ("regularized-em", {"lags": 2}, "lags of regularized-em must be an integer, between 0 and 1"),
    ("regularized-em", {"ridge": 0.0}, "ridge of regularized-em must be a finite number, more than 0"),
    (
        "regularized-em",
        {"ridge": 2.0},
        "ridge of regularized-em must be a finite number",
    ),
    ("interpolation", {"tau": 1.0}, "the setting of interpolation in its header"),
    ("spectral", {"weights": "slice"}, "is no setting"),
]


@pytest.fixture(scope="module")
def fitted():
    table = np.random.default_rng(0).normal(size=(40, 4)).cumsum(axis=0)
    table[::7, 1] = np.nan
    return GraphImputer(method="interpolation", device="cpu").fit(None, table.T, times=np.arange(40))


@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in ("kriging", "local", "smoothness")])
def test_what_methods_try_is_read_as_it_is(name):
    options = SimpleNamespace(options=GraphImputer().check_options())
    asked = SimpleNamespace(options=options, values=np.zeros((3, 400)), period=24, ordered=True)
    for setting in BY_NAME[name].settings(asked):
        assert setting_of(name, setting, GraphImputer) == setting


@pytest.mark.parametrize("name", GOOD)
def test_good_settings(name):
    assert setting_of(name, GOOD[name], GraphImputer) == GOOD[name]


@pytest.mark.parametrize("name, change, message", BAD)
def test_settings_that_no_method_has(name, change, message):
    with pytest.raises((DataError, ParameterError), match=re.escape(message)):
        setting_of(name, {**GOOD.get(name, {}), **change}, GraphImputer)


def test_numbers_are_numbers():
    with pytest.raises(ParameterError, match="ridge of regularized-em must be a finite number.*got '0.3'"):
        setting_of("regularized-em", {"lags": 0, "ridge": "0.3"}, GraphImputer)


def test_settings_of_earlier_versions_are_left_out():
    assert setting_of("local", {"neighbors": 8, "share": 0.03}, GraphImputer) == {"neighbors": 8}
    smoothness = GOOD["smoothness"]
    assert setting_of("smoothness", {"alike": 0} | smoothness, GraphImputer) == smoothness


@pytest.mark.parametrize("kind", [ParameterError, ModelError])
def test_a_method_that_was_removed(kind):
    with pytest.raises(kind, match="'tikhonov' was removed. Use 'auto'"):
        GraphImputer(method="tikhonov").check()


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("plan.shares", 3.0, "finite numbers of at most 2 in size"),
        ("plan.law", np.nan, "plan.law"),
        ("plan.growth", -1.0, "plan.growth is"),
        ("deviation", np.inf, "is inf; it is a number from 0 on, or NaN"),
        ("deviation", -1.0, "is -1.0; it is a number from 0 on, or NaN"),
    ],
)
def test_numbers_of_a_file_that_no_fit_has(name, value, message, fitted):
    facts, arrays = saving.pack_model(fitted)
    forged = {**arrays, name: np.full_like(arrays[name], value)}
    with pytest.raises(DataError, match=re.escape(message)):
        saving.unpack(GraphImputer(device="cpu"), facts, persist.Arrays("a file", forged))
