"""The one chooser between GPU and CPU: a room's module of steps."""

import importlib


def engine(device, room):
    """The module gpu.py or cpu.py of a room (a package's name, such as 'gpukit.factorization') for a Device."""
    return importlib.import_module(f"{room}.{'gpu' if device.is_cuda else 'cpu'}")
