"""Where and on how much benchmarks run."""

import os
from typing import NamedTuple

from gpukit import device as devices

SHAPES = ("ml-10m", "netflix")


class Setting(NamedTuple):
    """Where and on how much: a device.Device, the shapes' names, the share of their ratings, the folder of real data
    or None."""

    device: devices.Device
    shapes: tuple = SHAPES
    scale: float = 1.0
    data: str | None = os.environ.get("GPUKIT_DATA")


def shape_name(like, scale):
    """'netflix', or 'netflix x 0.01'."""
    return like if scale == 1 else f"{like} x {scale:g}"
