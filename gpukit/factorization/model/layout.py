"""Memory layout of parameters, in integers, for host code and kernels."""

from typing import Literal, NamedTuple, get_args

from gpukit.errors import ParameterError
from gpukit.factorization.constants import RULES

Precision = Literal["auto", "single", "half"]  # of the minor side's factors while training
PRECISIONS = get_args(Precision)
EXTRA = 8  # numbers of a parameter row after the factors:
BIAS, SQUARES, BASE = range(3)  # b, the sum of squared errors, the baseline bias of the residuals in Eq. (1)
LEVELS = 256  # codes of a neighbour: 0 unrated, then ratings.orders.order.MOST rating levels,
NO_NEIGHBOR = LEVELS - 1  # and an empty slot


class Rows(NamedTuple):
    """Layout of the parameter rows of one side.

    A row has `stride` float32 numbers; the last EXTRA are not factors. half: factors are float16, two to a number.
    """

    n_factors: int
    stride: int
    half: bool


class Layout(NamedTuple):
    """Sizes of one model on one device.

    lanes: threads that share a rating (1 on the CPU); factors, near: factors and neighbours of a lane; major, minor:
    Rows of the major and of the minor side.
    """

    n_factors: int
    n_neighbors: int
    lanes: int
    factors: int
    near: int
    major: Rows
    minor: Rows

    @property
    def slots(self):
        """Neighbour slots of an item: K rounded up to the capacity of the lanes."""
        return self.lanes * self.near


def major_first(walk, users, items):
    """Return (users, items) with the major side first.

    walk: the major side, 'users' or 'items'.
    """
    return (users, items) if walk == "users" else (items, users)


def is_half(precision, on_gpu, n_ratings):
    """Return True if the minor side's factors are float16 in training.

    'auto': on a GPU, from half_from ratings on. Raises ParameterError for 'half' on a CPU.
    """
    if precision == "half" and not on_gpu:
        raise ParameterError("precision='half' needs a GPU; a CPU trains in single precision. Use 'auto' or 'single'.")
    return precision == "half" or (precision == "auto" and on_gpu and n_ratings >= RULES.half_from)


def cpu_layout(n_factors, n_neighbors, half=False):
    """Return the Layout for a CPU: one thread a rating, no padding.

    Raises ValueError for half: see is_half.
    """
    if half:
        raise ValueError("a CPU trains in single precision")
    rows = Rows(n_factors, n_factors + EXTRA, False)
    return Layout(n_factors, n_neighbors, 1, n_factors, n_neighbors, rows, rows)


def gpu_layout(n_factors, n_neighbors, half=False):
    """Return the Layout for a GPU, with 8 to 32 lanes.

    16 lanes are used if each has a quad of factors and one of neighbours; more lanes if a lane would hold more than 16
    of either. half: see is_half.
    """
    most = max(n_factors, n_neighbors)
    quads_for_16 = n_factors > 32 and (n_neighbors == 0 or n_neighbors > 32)
    lanes = 32 if most > 256 else 16 if most > 128 or quads_for_16 else 8
    factors = 4 * -(-n_factors // (4 * lanes))
    near = 4 * -(-n_neighbors // (4 * lanes))
    major, minor = (gpu_rows(n_factors, lanes * factors, kind) for kind in (False, half))
    return Layout(n_factors, n_neighbors, lanes, factors, near, major, minor)


def gpu_rows(n_factors, padded, half):
    """Return Rows that start on a 128-byte line."""
    numbers = padded // 2 if half else padded
    return Rows(n_factors, -(-(numbers + EXTRA) // 32) * 32, half)


def pair_keys(users, items):
    """Return int64 keys of row pairs, sorted by user, then item."""
    return (users.astype("int64") << 32) | items
