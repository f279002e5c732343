"""Steps of batch-Hogwild on the CPU; gpu.py has the same names."""

from gpukit.device.cpu_arrays import empty, runner
from gpukit.factorization.solvers.hogwild import twins
from gpukit.runtime.thread_count import get_num_threads

__all__ = ["empty", "most_workers", "run", "walk"]

run = runner(twins)


def most_workers(layout):
    """Return the number of concurrent workers: one per thread."""
    return get_num_threads()


def walk(layout, *arguments):
    """Run hogwild_epoch."""
    twins.hogwild_epoch(*arguments)
