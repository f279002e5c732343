"""HTML of an estimator, for notebooks."""

from html import escape

from gpukit.base.checks import said


def html_of(name, parameters, facts):
    """Return a small HTML table without scripts or styles.

    name: of the class; parameters, facts: {name: value}, facts None for an unfitted estimator.
    """
    rows = [*parameters.items(), *(facts or {}).items()]
    cells = "".join(f"<tr><th>{escape(key)}</th><td>{escape(shown(value))}</td></tr>" for key, value in rows)
    return f"<div><b>{escape(name)}</b>, {'not fitted' if facts is None else 'fitted'}<table>{cells}</table></div>"


def shown(value):
    """Return a value as text; an array by its shape."""
    if getattr(value, "shape", ()):
        return f"{type(value).__name__} of shape {tuple(value.shape)}"
    return f"{value:.6g}" if isinstance(value, float) else said(value)
