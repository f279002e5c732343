"""Checks of parameter values.

Each returns the value in its expected type or raises ParameterError.
"""

from gpukit.errors import ParameterError


def format_value(value):
    """Return a value for a message: one line, shortened."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 200 else text[:200] + " ..."


def check_boolean(name, value):
    """Return value as a bool; ParameterError unless it is True, False, 1 or 0."""
    is_scalar = not getattr(value, "shape", ())
    if not is_scalar or not (is_boolean(value) or (hasattr(value, "__index__") and value in (False, True))):
        raise ParameterError(f"{name} must be True or False; got {format_value(value)}.")
    return bool(value)


def check_integer(name, value, low, high=None):
    """Return value as an int in [low, high].

    Raises ParameterError with the parameter, the bounds and the value.
    """
    whole = not is_boolean(value) and hasattr(value, "__index__") and not getattr(value, "shape", ())
    if not whole or value < low or (high is not None and value > high):
        bounds = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ParameterError(f"{name} must be an integer, {bounds}; got {format_value(value)}.")
    return int(value)


def check_real(name, value, low, high=None, strict=False):
    """Return value as a float in [low, high]; strict excludes low.

    Raises ParameterError with the bounds and the value.
    """
    try:
        number = float("nan") if is_text(value) or is_boolean(value) else float(value)
    except (TypeError, ValueError, OverflowError):  # an integer beyond float64
        number = float("nan")
    if (
        not (number > low if strict else number >= low)
        or (high is not None and not number <= high)
        or number == float("inf")
    ):
        bounds = f"{'more than' if strict else 'at least'} {low}" + ("" if high is None else f" and at most {high}")
        raise ParameterError(f"{name} must be a finite number, {bounds}; got {format_value(value)}.")
    return number


def is_text(value):
    """Return True for text, numpy's included, even if it spells a number."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return isinstance(value, (str, bytes, bytearray)) or kind in ("S", "U")


def is_boolean(value):
    """Return True for True and False, numpy's included."""
    return isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"


def check_choice(name, value, choices):
    """Return value; ParameterError with the choices if it is not among them."""
    if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in choices):
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}; got {format_value(value)}.")
    return value
