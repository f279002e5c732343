"""Everything that the reference shows is documented, its examples run, and each kind of gap is seen."""

import doctest
import inspect

import numpy as np
import pytest
from gates import reference


def test_public_callables_are_documented(root):
    shown = list(reference.public_callables(root))
    assert len(shown) > 80
    assert [fault for name, function in shown for fault in reference.faults_of(name, function)] == []


@pytest.mark.slow
def test_examples_of_the_reference_run(root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # examples write files
    found = {id(inspect.unwrap(function)): (name, function) for name, function in reference.public_callables(root)}
    runner, ran = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE), 0
    for name, function in found.values():
        test = doctest.DocTestParser().get_doctest(
            inspect.getdoc(function) or "", {function.__name__: function, "np": np}, name, None, None
        )
        ran += bool(test.examples)
        assert runner.run(test).failed == 0, name
    assert ran > 10


def documented(a, b=1) -> int:
    """Return a sum.

    Parameters
    ----------
    a, b : int

    Returns
    -------
    int

    Examples
    --------
    >>> documented(2)
    3
    """


@pytest.mark.parametrize(
    "old, new, fault",
    [
        ("", "", None),
        ("a, b : int", "a : int", "no parameter b"),
        ("a, b : int", "a, b, c : int", "c is not a parameter"),
        ("Parameters\n----------", "Arguments\n---------", "no parameter a, b"),
        ("Returns\n-------", "Result\n------", "no section Returns"),
        ("Examples\n--------", "", "no section Examples"),
    ],
)
def test_gaps_are_seen(old, new, fault):
    def function(a, b=1) -> int: ...

    function.__doc__ = inspect.getdoc(documented).replace(old, new)
    faults = reference.faults_of("f", function)
    assert len(faults) == (fault is not None) and all(fault in one for one in faults)
