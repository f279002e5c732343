"""The public API that version 1.0 freezes: every name of the reference, its parameters and their defaults.

A name or parameter is removed, renamed or given another default only in a new major version; additions come last.
"""

import inspect

from gates import reference

import gpukit
from golden.command import Case

CASES = (Case("the public API", "docs/reference"),)


def test_the_public_api(golden, root):
    """Everything that the pages of docs/reference show."""
    shown = {name: parameters(one) for name, one in reference.public_callables(root)}
    assert {f"gpukit.{name}" for name in gpukit.ESTIMATORS} <= set(shown)
    golden.check(CASES[0].name, shown)


def parameters(one):
    """Return the parameters of a function or a class as text, with their defaults."""
    found = inspect.signature(one).parameters.values()
    return [one.name if one.default is one.empty else f"{one.name}={one.default!r}" for one in found]
