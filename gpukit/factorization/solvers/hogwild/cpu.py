"""Steps of batch-Hogwild on the CPU; gpu.py has the same names."""

from gpukit.device.cpu_arrays import empty, runner
from gpukit.factorization.solvers.hogwild import twins
from gpukit.runtime.thread_count import get_num_threads

__all__ = ["empty", "most_workers", "run", "stored_width", "walk"]

run = runner(twins)


def most_workers():
    """Workers that can be at work at once: one a thread."""
    return get_num_threads()


def stored_width(n_factors):
    """Factors of a row that is stored apart."""
    return n_factors


def walk(n_factors, *arguments):
    """hogwild_epoch for F factors."""
    twins.hogwild_epoch(*arguments)
