"""Cost model of `--gpus auto` and `--ranks auto`: time on one GPU and on several.

The times of a pass over the data on one and two GPUs are rows of docs/benchmarks.csv (H200s of one host, "..., 2
ranks"). The time on two GPUs beyond half of one's is communication. It is constant for smaller data, proportional for
larger data, and is added to an R-th of the time of one GPU for R ranks. Sizes are estimated from file sizes and may be
wrong by a factor of two, which matters only where both choices take about the same time.
"""

from typing import NamedTuple

START_SECONDS = 1.0  # of a second process: 0.6 on a CPU, 0.2 for NCCL's first connections, the rest for its GPU
SOCKET_SECONDS = 1e-9  # per byte that rank 0 sends to another rank by sockets, on two cores
NCCL_SECONDS = 0.09e-9  # per byte sent by NCCL, beyond the upload to one GPU: 0.57 s instead of 0.34 s for the tensor
SIZES = {"ratings": 99.07e6, "features": 3.77e6 * 136, "tensor": 512 * 512 * 2600.0}  # Netflix, values of WEB30K
EPOCHS = {(32, 0): (7.12, 4.29), (128, 0): (16.81, 8.58), (32, 32): (11.44, 6.05)}  # (F, K): ms on one GPU, on two
PASSES = {"features": (0.5459, 0.3801), "tensor": (73.79, 39.80)}  # of the Hessian, of the imputation: the same


class Workload(NamedTuple):
    """Cost of a computation.

    passes: number of passes; one_gpu, two_gpus: seconds of a pass; distribution: seconds in which rank 0 sends the data
    to another rank.
    """

    passes: float
    one_gpu: float
    two_gpus: float
    distribution: float = 0.0

    def seconds(self, ranks):
        """Return the seconds on `ranks` GPUs from the start of their processes."""
        if ranks == 1:
            return self.passes * self.one_gpu
        communication = self.two_gpus - self.one_gpu / 2
        return START_SECONDS + self.distribution * (ranks - 1) + self.passes * (self.one_gpu / ranks + communication)


def factorization_workload(count, epochs, factors, neighbors):
    """Return the Workload of stochastic gradient descent on `count` ratings with F factors and K neighbours."""
    usual, wide, near = EPOCHS.values()
    wide_share, near_share = (factors - 32) / 96, neighbors / 32
    row = [max(a / 4, a + wide_share * (b - a) + near_share * (c - a)) for a, b, c in zip(usual, wide, near)]
    return Workload(epochs, *scale_row(row, count / SIZES["ratings"]), SOCKET_SECONDS * 12 * count)  # bytes of one


def ranksvm_workload(values, products):
    """Return the Workload of RankSVMs; values: of all features; products: with the Hessian.

    Each rank reads the documents itself.
    """
    return Workload(products, *scale_row(PASSES["features"], values / SIZES["features"]))


def imputation_workload(values, steps):
    """Return the Workload of `steps` steps of an imputation of a tensor with `values` entries."""
    return Workload(steps, *scale_row(PASSES["tensor"], values / SIZES["tensor"]), NCCL_SECONDS * 4 * values)


def scale_row(row, share):
    """Return seconds of one and two GPUs for a share of the data of a row in ms."""
    one, two = (1e-3 * milliseconds for milliseconds in row)
    return one * share, one * share / 2 + (two - one / 2) * max(1.0, share)


def choose_gpu_count(workload, available):
    """Return (number of GPUs to use, reason): one or all available.

    workload: a Workload, None if the time on several GPUs is unknown.
    """
    if available < 2:
        return 1, "no other GPU was found" if available else "no GPU was found"
    if workload is None:
        return 1, f"the time on {available} GPUs was not measured for this request"
    single, several = workload.seconds(1), workload.seconds(available)
    reason = f"about {single:.2g} s on one GPU, {several:.2g} s on {available} with their start"
    return (available if several < single else 1), reason


def choose_process_count(cores):
    """Return (number of processes on the CPU, reason): always one."""
    return 1, f"its threads use all {cores} processors, and several ranks were never faster on one machine"
