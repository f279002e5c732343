"""Names of a package that are imported on first use."""

import importlib


def on_demand(package, homes, modules=()):
    """Return __getattr__ and __dir__ of a package.

    homes: {name: file or folder of the package that defines it}; modules: names of its own files and folders. Type
    checkers and editors do not see these names: the package imports them again under `if TYPE_CHECKING`.
    """

    def load(name):
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name in homes:
            return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {', '.join(homes)}.")

    return load, lambda: sorted([*homes, *modules])
