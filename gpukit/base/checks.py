"""Checks of a parameter's value; each returns it as the type that the work expects, or raises ParameterError."""

from gpukit.errors import ParameterError


def said(value):
    """A value in a message: one line, not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 200 else text[:200] + " ..."


def check_integer(name, value, low, high=None):
    """value as an int in [low, high], or ParameterError naming the parameter, the bounds and the value."""
    whole = not isinstance(value, bool) and hasattr(value, "__index__") and not getattr(value, "shape", ())
    if not whole or value < low or (high is not None and value > high):
        bounds = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ParameterError(f"{name} must be an integer, {bounds}; got {said(value)}.")
    return int(value)


def check_real(name, value, low, high=None, strict=False):
    """value as a float in [low, high] (low excluded when strict), or ParameterError naming the bounds and the value."""
    try:
        number = float("nan") if is_text(value) else float(value)
    except (TypeError, ValueError, OverflowError):  # an integer beyond float64
        number = float("nan")
    if (
        not (number > low if strict else number >= low)
        or (high is not None and not number <= high)
        or number == float("inf")
    ):
        bounds = f"{'more than' if strict else 'at least'} {low}" + ("" if high is None else f" and at most {high}")
        raise ParameterError(f"{name} must be a finite number, {bounds}; got {said(value)}.")
    return number


def is_text(value):
    """Whether a value is text, of numpy's too: a number that it spells is none yet."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return isinstance(value, (str, bytes, bytearray)) or kind in ("S", "U")


def check_choice(name, value, choices):
    """value, or ParameterError listing the choices."""
    if not any(value is one or (type(value) is type(one) and value == one) for one in choices):
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}; got {said(value)}.")
    return value
