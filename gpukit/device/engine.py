"""Choice of a package's host steps, its gpu.py or its cpu.py, by device."""

import importlib


def engine(device, package):
    """Return the module of host steps of a package ("gpukit.ranking"): package.gpu on a GPU, else package.cpu.

    Both modules have the names and arguments that the package's steps.py lists.
    """
    return importlib.import_module(f"{package}.{'gpu' if device.is_cuda else 'cpu'}")
