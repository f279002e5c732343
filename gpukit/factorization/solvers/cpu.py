"""Host steps of hogwild and sampled on the CPU; gpu.py has the same names."""

from gpukit.device.cpu_arrays import empty, runner
from gpukit.factorization.solvers.hogwild import twins as hogwild_twins
from gpukit.factorization.solvers.sampled import twins as sampled_twins
from gpukit.runtime.thread_count import get_num_threads, limited

run = runner(hogwild_twins)


def hogwild_workers(layout):
    """Return the number of concurrent workers: one per thread."""
    return get_num_threads()


def run_hogwild(layout, *arguments):
    """Run hogwild_epoch."""
    hogwild_twins.hogwild_epoch(*arguments)


def sampled_workers(layout):
    """Return the number of concurrent workers: one per thread."""
    return get_num_threads()


def sampled_workspace(workers, n_items):
    """Return None: each thread has its own workspace."""


def run_sampled(layout, workspace, *arguments):
    """Run sampled_epoch."""
    clicks_a_thread = 10_000  # of an epoch; for fewer, waiting for another thread may cost more than it saves
    with limited(max(1, arguments[1].items.size // clicks_a_thread)):
        sampled_twins.sampled_epoch(*arguments)
