"""Names of a package that are imported on first use."""

import importlib
import sys


def on_demand(package):
    """Return __getattr__, __dir__ and __all__ of a package, for the names that it imports for type checkers.

    They are in its lines `from MODULE import NAME as NAME`, under `if TYPE_CHECKING`. Its own modules are not in
    __all__.
    """
    homes = {}
    for line in sys.modules[package].__spec__.loader.get_source(package).splitlines():
        match line.split():
            case ["from", module, "import", name, "as", alias] if name == alias:
                homes[name] = module
    names = sorted(name for name, module in homes.items() if module != package)

    def load(name):
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {', '.join(names)}.")
        if homes[name] == package:
            return importlib.import_module(f"{package}.{name}")
        return getattr(importlib.import_module(homes[name]), name)

    return load, lambda: sorted(homes), names
