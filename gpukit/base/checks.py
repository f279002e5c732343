"""Checks of a parameter's value; each returns it as the type that the work expects, or raises ParameterError."""

from gpukit.errors import ParameterError


def check_integer(name, value, low, high=None):
    """value as an int in [low, high], or ParameterError naming the parameter, the bounds and the value."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < low or (high is not None and value > high):
        bounds = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ParameterError(f"{name} must be an integer, {bounds}; got {value!r}.")
    return int(value)


def check_real(name, value, low, high=None, strict=False):
    """value as a float in [low, high] (low excluded when strict), or ParameterError naming the bounds and the value."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if (
        not (number > low if strict else number >= low)
        or (high is not None and not number <= high)
        or number == float("inf")
    ):
        bounds = f"{'more than' if strict else 'at least'} {low}" + ("" if high is None else f" and at most {high}")
        raise ParameterError(f"{name} must be a finite number, {bounds}; got {value!r}.")
    return number


def check_choice(name, value, choices):
    """value, or ParameterError listing the choices."""
    if value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")
    return value
