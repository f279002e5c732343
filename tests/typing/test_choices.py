"""Literal types of parameters: exactly the values that the estimators accept."""

import ast
import inspect
import re
import sys
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

import gpukit
from gpukit.documents import synth as letor_synth
from gpukit.errors import ParameterError
from gpukit.factorization import settings
from gpukit.factorization.solvers import LOSSES_OF, SOLVERS
from gpukit.imputation.auto import plan
from gpukit.imputation.options import METHODS
from gpukit.ranking import scaling
from gpukit.ranking.estimator import Scale
from gpukit.ratings import synth as ratings_synth


def hints_of(cls):
    """Return {parameter: type} of a constructor; names that its file imports for type checkers are imported here."""
    module = sys.modules[cls.__module__]
    blocks = [node.body for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.If)]
    known = dict(vars(module))
    exec(compile(ast.Module(sum(blocks, []), []), module.__file__, "exec"), known)
    return get_type_hints(cls.__init__, known)


def literals_of(hint):
    """Return the values of all Literals in a type."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    return sum(map(literals_of, get_args(hint)), ())


HINTS = {name: hints_of(getattr(gpukit, name)) for name in gpukit.ESTIMATORS}
CASES = [
    (name, parameter, values)
    for name, hints in HINTS.items()
    for parameter, hint in hints.items()
    if (values := literals_of(hint)) and parameter != "device"  # which also takes 'cuda:N'
]


@pytest.mark.parametrize("name, parameter, values", CASES, ids=lambda one: one if isinstance(one, str) else "")
def test_choices(name, parameter, values):
    model = getattr(gpukit, name)(device="cpu")
    if parameter == "row_solver":
        model.set_params(solver="ials")
    for value in values:
        try:
            model.set_params(**{parameter: value}).check()
        except ParameterError as error:  # a value that does not fit another parameter
            assert "must be one of" not in str(error)
    with pytest.raises(ParameterError) as refused:
        model.set_params(**{parameter: "nothing"}).check()
    listed = re.search(r"must be one of (.*); got 'nothing'", str(refused.value))
    assert (listed and listed[1].split(", ")) == (None if parameter == "C" else list(map(repr, values)))


def test_tables_have_the_same_names():
    """Names that are both in a Literal and in a table of their meanings."""
    assert settings.ALL_SOLVERS == ("auto", *SOLVERS, *LOSSES_OF)
    assert settings.LOSSES == ("auto", *dict.fromkeys(sum(LOSSES_OF.values(), ())))
    assert get_args(Scale) == ("auto", *scaling.KINDS)
    assert set(METHODS) == set(plan.BY_NAME)
    for module, function in ((ratings_synth, ratings_synth.synth_ratings), (letor_synth, letor_synth.synth_letor)):
        assert literals_of(get_type_hints(function)["like"]) == tuple(module.SHAPES)


def test_every_parameter_has_a_type():
    for name, hints in HINTS.items():
        assert set(hints) - {"return"} == set(getattr(gpukit, name)().get_params()), name
    assert len(CASES) > 20
