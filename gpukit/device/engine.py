"""The one chooser of a room's host steps: its gpu.py or its cpu.py."""

import importlib


def engine(device, room):
    """The module of host steps of a room ("gpukit.ranking") for a Device: room.gpu on a GPU, else room.cpu.

    Both have the same names with the same arguments; the room's steps.py says which.
    """
    return importlib.import_module(f"{room}.{'gpu' if device.is_cuda else 'cpu'}")
