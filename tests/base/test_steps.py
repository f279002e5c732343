"""Agreement of the cpu.py and gpu.py of packages, with their steps.py if there is one.

Names and arguments are equal.
"""

import importlib
import inspect

import pytest

CLASSES = {
    "factorization": "DeviceModel",
    "imputation.smoothness": "ConjugateGradients",
    "imputation.spectral": "TensorCompletion",
}
SIDES = ("cpu", "gpu")
FACTORIZATION = {"layout": 3, "most_workers": 1, "find_neighbors": 2, "begin": 4}  # functions and their arguments
NEIGHBORS = {"search": 3, "find": 2, "fetch": 1}


def members(protocol):
    """Return {name: number of arguments without self} of a Protocol.

    -1 for a plain attribute.
    """
    own = {name: part for name, part in vars(protocol).items() if getattr(part, "__name__", "") == name}
    own = {name: part for name, part in own.items() if not name.startswith("_") or name == "__init__"}
    attributes = dict.fromkeys(vars(protocol).get("__annotations__", {}), -1)
    return {name: len(inspect.signature(part).parameters) - 1 for name, part in own.items()} | attributes


def faults(owner, protocol, of_class=False):
    """Return the names that a module or class defines differently than a Protocol."""
    found = []
    for name, count in members(protocol).items():
        part = getattr(owner, name, None)
        if count < 0:
            found += [f"{name} is not there"] if part is None and not of_class else []
            continue
        try:
            inspect.signature(part).bind(*range(count + of_class))
        except TypeError as error:
            found.append(f"{name}: {error}")
    return found


@pytest.mark.parametrize("side", SIDES)
def test_modules_of_steps(side):
    steps = importlib.import_module("gpukit.ranking.steps")
    assert faults(importlib.import_module(f"gpukit.ranking.{side}"), steps.Steps) == []


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("room, steps", [("factorization", FACTORIZATION), ("neighbors", NEIGHBORS)])
def test_functions_of_steps(room, steps, side):
    module = importlib.import_module(f"gpukit.{room}.{side}")
    for name, count in steps.items():
        inspect.signature(getattr(module, name)).bind(*range(count))


@pytest.mark.parametrize("room", CLASSES)
def test_both_devices_have_the_same_class(room):
    cpu, gpu = (getattr(importlib.import_module(f"gpukit.{room}.{side}"), CLASSES[room]) for side in SIDES)
    theirs = methods_of(gpu)
    assert all(theirs[name][: len(arguments)] == arguments for name, arguments in methods_of(cpu).items())


def methods_of(owner):
    """Return {name: arguments} of the public methods of a class, also inherited, and of its constructor."""
    own = {
        name: part
        for name, part in inspect.getmembers(owner, inspect.isfunction)
        if not name.startswith("_") or name == "__init__"
    }
    return {name: list(inspect.signature(part).parameters) for name, part in own.items()}


@pytest.mark.parametrize("side", SIDES)
def test_matrices(side):
    steps, module = (importlib.import_module(f"gpukit.ranking.{name}") for name in ("steps", side))
    for kind in (module.Dense, module.Sparse):
        assert faults(kind, steps.Matrix, True) == []


def test_a_missing_step_and_other_arguments_are_seen():
    from gpukit.ranking.steps import Steps

    class Half:
        sorting = None
        put = staticmethod(lambda array, stream: array)

    found = faults(Half, Steps)
    assert any(fault.startswith("put: missing a required argument") for fault in found)
    assert any(fault.startswith("empty: None is not a callable") for fault in found)
