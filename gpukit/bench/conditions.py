"""Where and on how much benchmarks run."""

from typing import NamedTuple

from gpukit import device as devices


class Conditions(NamedTuple):
    """Where and on how much benchmarks run: a device.Device, the names of the shapes asked for (none: the usual ones),
    the share of their data, the folder of real data or None, how many processes may share out what is not timed."""

    device: devices.Device
    shapes: tuple = ()
    scale: float = 1.0
    data: str | None = None
    workers: int = 1

    def among(self, usual, more=()):
        """The shapes to measure: the usual ones, or those of them and of `more` that were asked for."""
        return tuple(name for name in (*usual, *more) if name in (self.shapes or usual))


def shape_name(like, scale):
    """'netflix', or 'netflix x 0.01'."""
    return like if scale == 1 else f"{like} x {scale:g}"
