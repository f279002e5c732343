"""Choice of a package's host steps by device."""

import functools
import importlib
import importlib.util
from types import SimpleNamespace


def engine(device, package):
    """Return the host steps of a package ("gpukit.ranking"): package.gpu on a GPU, else package.cpu.

    Both modules have the names and arguments that the package's steps.py lists. A package without them has the steps
    of `common_steps` alone.
    """
    side = "gpu" if device.is_cuda else "cpu"
    if importlib.util.find_spec(f"{package}.{side}") is None:
        return common_steps(side, package)
    return importlib.import_module(f"{package}.{side}")


@functools.cache
def common_steps(side, package):
    """Return the arrays and sorts of a side, "cpu" or "gpu", and `run` of the package's twins or kernels by name."""
    arrays = importlib.import_module(f"gpukit.device.{side}_arrays")
    group = importlib.import_module(f"gpukit.primitives.group.{side}")
    code = importlib.import_module(f"{package}.{'kernels' if side == 'gpu' else 'twins'}")
    parts = {**vars(group), **vars(arrays), "run": arrays.runner(code)}
    return SimpleNamespace(**{name: part for name, part in parts.items() if not name.startswith("_")})
