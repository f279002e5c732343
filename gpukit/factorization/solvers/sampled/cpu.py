"""Steps of learning from clicks on the CPU; gpu.py has the same names."""

from gpukit.factorization.solvers.sampled import twins
from gpukit.runtime.thread_count import get_num_threads, limited

__all__ = ["most_workers", "walk", "workspace"]

CLICKS_A_THREAD = 10_000  # of an epoch; for fewer, waiting for another thread may cost more than it saves


def most_workers(layout):
    """Return the number of concurrent workers: one per thread."""
    return get_num_threads()


def workspace(workers, n_items):
    """Return None: each thread has its own workspace."""


def walk(layout, workspace, *arguments):
    """Run sampled_epoch."""
    with limited(max(1, arguments[1].items.size // CLICKS_A_THREAD)):
        twins.sampled_epoch(*arguments)
