"""Steps of batch-Hogwild on the CPU; gpu.py has the same names."""

from gpukit.device.cpu_arrays import empty, runner
from gpukit.factorization.solvers.hogwild import twins
from gpukit.runtime.thread_count import get_num_threads

__all__ = ["empty", "most_workers", "run", "walk"]

run = runner(twins)


def most_workers(layout):
    """Workers that can be at work at once: one a thread."""
    return get_num_threads()


def walk(layout, *arguments):
    """hogwild_epoch for rows of a layout."""
    twins.hogwild_epoch(*arguments)
