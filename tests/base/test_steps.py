"""Agreement of the cpu.py and gpu.py of packages in names and arguments."""

import importlib
import inspect

import pytest

CLASSES = {
    "factorization": "DeviceModel",
    "imputation.spectral": "TensorCompletion",
}
SIDES = ("cpu", "gpu")
FACTORIZATION = {"layout": 3, "most_workers": 1, "find_neighbors": 2, "begin": 5}  # functions and their arguments
NEIGHBORS = {"search": 3, "find": 2, "fetch": 1}
RANKING = {"put": 1, "empty": 2, "walk_blocks": 0, "room": 3, "matrix": 1, "run": 3, "csr": 1, "copy_in": 2}
RANKING |= {"copy_out": 1, "pair_sums": 7}
MATRIX = {"scores": 3, "transposed": 2, "gram": 5}  # with self


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(
    "room, steps", [("factorization", FACTORIZATION), ("neighbors", NEIGHBORS), ("ranking", RANKING)]
)
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
@pytest.mark.parametrize("kind", ["Dense", "Blocks"])
def test_matrices(kind, side):
    kind = getattr(importlib.import_module(f"gpukit.ranking.{side}"), kind)
    for name, count in MATRIX.items():
        inspect.signature(getattr(kind, name)).bind(*range(count))
