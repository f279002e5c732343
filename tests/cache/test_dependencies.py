"""The hash of a function's dependencies: equal for equal meaning in every process, different for another meaning."""

import importlib
import os
import pkgutil
import subprocess
import sys

import numpy as np
import pytest
from support import SIMULATED

import gpukit
from gpukit import _dependencies
from gpukit._dependencies import stamp

REPORT = """
import test_dependencies
print(sorted(test_dependencies.stamps_of_gpukit({order}).items()))
"""


def define(text, **values):
    """Return the function f of a module made of text."""
    scope = {"__name__": "somewhere", **values}
    exec(text, scope)
    return scope["f"]


def cpu_stamp(text, **values):
    return stamp(define(text, **values), "cpu")


@pytest.mark.parametrize(
    "one, other",
    [(0.0, -0.0), (1, 1.0), (1, True), (1.0, np.float32(1.0)), (np.float32(1.0), np.float64(1.0)), ("a", b"a"),
     (np.zeros(2, np.int32), np.zeros(2, np.int64)), (np.zeros((1, 2)), np.zeros((2, 1))), (np.arange(3), np.ones(3)),
     ((1, 2), (2, 1)), ((1, 2), [1, 2]), (np.float32, np.float64), (np.sin, np.cos), (len, max)],
)  # fmt: skip
def test_values(one, other):
    text = "def f(x):\n    return VALUE"
    assert cpu_stamp(text, VALUE=one) == cpu_stamp(text, VALUE=one) != cpu_stamp(text, VALUE=other)


CODE = "def f(x):\n    return x + 1.5"


@pytest.mark.parametrize("same", ["\n\n" + CODE, "def f(x):\n    # a comment\n\n    return (x  +  1.5)"])
def test_lines_and_comments_are_no_difference(same):
    assert cpu_stamp(CODE) == cpu_stamp(same)


def test_docstrings_are_no_difference_but_other_texts_are():
    text = "def f(x):\n    {}\n    return {}"
    assert cpu_stamp(text.format("'one'", 1)) == cpu_stamp(text.format("'two'", 1))
    assert cpu_stamp(text.format("'one'", "'here'")) != cpu_stamp(text.format("'one'", "'there'"))


@pytest.mark.parametrize(
    "text",
    ["def f(x):\n    return x - 1.5", "def f(x):\n    return x + 2.5", "def f(x, y=1):\n    return x + 1.5",
     "def f(x, y=2):\n    return x + 1.5", "def f(x, *, y=2):\n    return x + 1.5"],
)  # fmt: skip
def test_code_is(text):
    others = [CODE, "def f(x, y=3):\n    return x + 1.5", "def f(x, *, y=3):\n    return x + 1.5"]
    assert cpu_stamp(text) not in map(cpu_stamp, others)


def test_functions_that_call_each_other():
    text = "def f(x):\n    return g(x)\n\ndef g(x):\n    return h(x)\n\ndef h(x):\n    return f(x) + {}"
    assert cpu_stamp(text.format(1)) == cpu_stamp(text.format(1)) != cpu_stamp(text.format(2))


def test_who_calls_whom():
    """The same functions with the same text, and two exchanged callees."""
    text = """
def make(inner):
    def outer(x):
        return inner(x)
    return outer

def constant(c):
    def inner(x):
        return c
    return inner

one, two = make(constant(1)), make(constant(2))
def f(x):
    return one(x) - two(x)
"""
    assert cpu_stamp(text) != cpu_stamp(text.replace("one, two =", "two, one ="))


def test_inner_functions():
    text = "def f(x):\n    return [(lambda y: y + VALUE)(i) for i in x]"
    assert cpu_stamp(text, VALUE=1) != cpu_stamp(text, VALUE=2)


def test_a_value_of_unknown_content_has_no_hash():
    assert cpu_stamp("def f(x):\n    return VALUE", VALUE=object()) is None
    assert cpu_stamp("def f(x):\n    return VALUE", VALUE=np.array([object()])) is None


def test_a_global_that_changes_later_has_none_either():
    """Linked code may contain its old value, so nothing is cached from then on."""
    function = define("def f(x):\n    return VALUE", VALUE=1)
    assert stamp(function, "cpu") is not None
    function.__globals__["VALUE"] = 2
    assert stamp(function, "cpu") is None


def test_overloads_count_for_their_target(monkeypatch):
    monkeypatch.setattr(_dependencies, "_source_hash", lambda made: "the same")
    record = _dependencies.wrap_overload(lambda *_, **__: lambda made: made)

    def stamps(number):
        """Return stamps (cpu before, cpu, cuda) of a function, before and after a callee has an overload for CUDA."""
        function = define("def g(x):\n    return x\n\ndef f(x):\n    return g(x)")
        before = stamp(function, "cpu")
        record(function.__globals__["g"], target="cuda")(define(f"def f(x):\n    return lambda x: x + {number}"))
        return before, stamp(function, "cpu"), stamp(function, "cuda")

    one, other = stamps(1), stamps(2)
    assert one[0] == one[1] == other[1] is not None and one[2] != other[2]


def stamps_of_gpukit(order):
    """Return {name: stamp} of all compiled functions of gpukit's modules, imported in both orders."""
    found = {}
    names = [m.name for m in pkgutil.walk_packages(gpukit.__path__, "gpukit.") if not m.name.endswith("__main__")]
    for name in [name for name in names if not name.startswith("gpukit.cli")][::order]:
        module = importlib.import_module(name)
        for member, value in vars(module).items():
            if hasattr(value, "py_func") and value.py_func.__module__ == name:
                target = "cuda" if type(value).__module__.startswith("numba.cuda") else "cpu"
                found[f"{name}.{member}"] = stamp(value, target)
    return found


@pytest.mark.slow
@pytest.mark.skipif(SIMULATED, reason="nothing is compiled in the simulator")
def test_all_of_gpukit_has_stamps_equal_in_every_process():
    def process(order, seed):
        folder = os.path.dirname(__file__)
        folders = os.pathsep.join([folder, os.path.dirname(folder)])
        environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": folders}
        call = [sys.executable, "-c", REPORT.format(order=order)]
        return subprocess.run(call, env=environment, check=True, capture_output=True, text=True).stdout

    forwards, backwards = process(1, 1), process(-1, 2)
    assert forwards.count("gpukit.") > 300 and "None" not in forwards
    assert forwards == backwards
