"""Ratings in: readers, id maps, splits and generators."""

import importlib

_HOMES = {
    "Ratings": "ratings", "as_ratings": "ratings", "read_ratings": "readers", "read_pairs": "readers",
    "write_ratings": "binary", "read_titles": "titles", "synth_ratings": "synth",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__():
    return __all__
