"""Parameters by name, and the three checks of a parameter's value."""

import numpy as np
import pytest

from gpukit import LSHMF, GraphImputer, MatrixFactorization, RankSVM
from gpukit.base import Estimator, check_boolean, check_choice, check_integer, check_real
from gpukit.errors import NotFittedError, ParameterError


class Line(Estimator):
    _fitted_by = "line_"

    def __init__(self, slope=1.0, *, offset=0):
        self.slope, self.offset = slope, offset

    def fit(self):
        self.line_ = True
        return self

    def predict(self):
        self._check_fitted()
        return self.line_


def test_parameters_by_name():
    line = Line(slope=2.0)
    assert line.get_params() == {"slope": 2.0, "offset": 0}
    assert line.set_params(offset=3) is line and line.offset == 3
    assert repr(line) == "Line(offset=3, slope=2.0)" and repr(Line()) == "Line()"
    assert repr(Line(slope=np.ones(2))) == "Line(slope=array([1., 1.]))"
    with pytest.raises(ParameterError, match=r"Line has no parameter 'slop'.*offset, slope"):
        line.set_params(slop=1)


def test_sklearn_can_clone():
    clone = pytest.importorskip("sklearn.base").clone
    copy = clone(Line(slope=5.0))
    assert copy.slope == 5.0 and not hasattr(copy, "line_")


def test_not_fitted():
    with pytest.raises(NotFittedError, match="Line is not fitted"):
        Line().predict()
    assert Line().fit().predict()


@pytest.mark.parametrize("value", [1, 5, np.int32(3), np.int64(5)])
def test_integers_that_pass(value):
    checked = check_integer("k", value, 1, 5)
    assert checked == value and type(checked) is int


@pytest.mark.parametrize("value", [0, 6, True, 2.0, "3", None])
def test_integers_that_do_not(value):
    with pytest.raises(ParameterError, match="k must be an integer, between 1 and 5"):
        check_integer("k", value, 1, 5)


def test_an_integer_without_an_upper_bound():
    assert check_integer("k", 10**12, 1) == 10**12
    with pytest.raises(ParameterError, match="at least 1; got 0"):
        check_integer("k", 0, 1)


@pytest.mark.parametrize("value", [True, 0, np.False_, np.int8(1), np.array(True)])
def test_booleans_that_pass(value):
    checked = check_boolean("biases", value)
    assert checked == bool(value) and type(checked) is bool


@pytest.mark.parametrize("value", ["no", "False", "", None, 2, 1.0, float("nan"), [], np.array([True]), np.arange(2)])
def test_booleans_that_do_not(value):
    with pytest.raises(ParameterError, match="biases must be True or False; got"):
        check_boolean("biases", value)


FLAGS = [(MatrixFactorization, "biases"), (LSHMF, "deterministic"), (RankSVM, "precondition")]
FLAGS += [(GraphImputer, "accelerate"), (GraphImputer, "rank_phase")]


@pytest.mark.parametrize("estimator, name", FLAGS)
def test_text_is_no_boolean(estimator, name):
    with pytest.raises(ParameterError, match=f"{name} must be True or False; got 'no'"):
        estimator(**{name: "no"}).check()


@pytest.mark.parametrize("value", [0.0, 1, np.float32(0.5)])
def test_reals_that_pass(value):
    checked = check_real("rate", value, 0, 1)
    assert checked == float(value) and type(checked) is float


@pytest.mark.parametrize(
    "value", [-0.1, 1.5, float("nan"), float("inf"), "x", "0.25", b"1", np.str_("1"), None, 10**400, True, np.True_]
)
def test_reals_that_do_not(value):
    with pytest.raises(ParameterError, match="rate must be a finite number"):
        check_real("rate", value, 0, 1)


def test_strict_bounds():
    assert check_real("rate", 1e-9, 0, strict=True) > 0
    with pytest.raises(ParameterError, match="more than 0"):
        check_real("rate", 0.0, 0, strict=True)
    with pytest.raises(ParameterError, match="finite"):
        check_real("rate", float("inf"), 0)


def test_choices():
    assert check_choice("search", "hamming", ("hamming", "buckets")) == "hamming"
    with pytest.raises(ParameterError, match="'hamming', 'buckets'; got 'lsh'"):
        check_choice("search", "lsh", ("hamming", "buckets"))
