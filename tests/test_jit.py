"""Compiled functions as compiled code and as Python call them."""

import pytest

from gpukit._jit import njit, types


@njit
def _square(x):
    return x * x


@njit
def _sum_of_squares(x, y):
    return _square(x) + _square(y)


@njit
def _factorial(n):
    return 1 if n < 2 else n * _factorial(n - 1)


@njit
def _two_factorials(n):
    return 2 * _factorial(n)


def test_compiled_code_calls_functions_that_python_cannot_call():
    """What Python needs to call a function is compiled only if Python does."""
    assert _sum_of_squares(2, 3) == 13
    _square.get_call_template((types.int64,), {})  # as numba does for _sum_of_squares, if it is not loaded from disk
    made = _square.callee.overloads[(types.int64,)]
    assert made.library.get_pointer_to_function(made.fndesc.llvm_cpython_wrapper_name) == 0 and not _square.signatures
    assert _square(3.0) == 9.0 and len(_square.signatures) == 1


@pytest.fixture
def compiled_here():
    """Compile the recursive functions, instead of loading them from disk."""
    for function in (_factorial, _two_factorials):
        for made in (function, function.callee):
            made._cache.disable()


@pytest.mark.parametrize("first", [_two_factorials, _factorial], ids=["by compiled code", "by Python"])
def test_a_function_that_calls_itself(compiled_here, first):
    assert first(5) in (120, 240) and _factorial(5) == 120 and _two_factorials(5) == 240
