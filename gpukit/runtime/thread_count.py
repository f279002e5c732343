"""Number of threads of compiled loops: set by the caller, environment or cores."""

import contextlib
import os
import threading

from gpukit._cores import cores
from gpukit.errors import ParameterError
from gpukit.runtime.start import MOST_THREADS, check_threads


class _Setting:
    count = None  # of the process; None until it is set or first needed


class _Limit(threading.local):
    count = None  # of the calling thread


_setting, _limit = _Setting(), _Limit()


def set_num_threads(count: int | None) -> None:
    """Set the number of threads that run compiled loops on the CPU.

    Results do not depend on it. The setting is for the whole process, and counts from the next loop on.

    Parameters
    ----------
    count : int or None
        From 1 to 16,384, the calling thread included. None restores the initial value: GPUKIT_NUM_THREADS, then
        NUMBA_NUM_THREADS, then the smaller of the cores in the process's affinity mask and in the quota of its
        control group.

    Raises
    ------
    ParameterError
        For any other value.

    Examples
    --------
    >>> from gpukit import get_num_threads, set_num_threads
    >>> set_num_threads(1)
    >>> get_num_threads()
    1
    >>> set_num_threads(None)
    """
    valid = count is None or (hasattr(count, "__index__") and 0 < int(count) <= MOST_THREADS)
    if not valid or isinstance(count, bool):
        raise ParameterError(f"The number of threads is {count!r}. Give a whole number from 1 to {MOST_THREADS:,}.")
    _setting.count = None if count is None else int(count)


def get_num_threads() -> int:
    """Return the number of threads that run compiled loops on the CPU, the calling thread included.

    Returns
    -------
    int
        The value of `set_num_threads`, or its initial value.

    Examples
    --------
    >>> from gpukit import get_num_threads
    >>> get_num_threads() >= 1
    True
    """
    if _setting.count is None:
        _setting.count = _initial_count()
    return _setting.count if _limit.count is None else min(_setting.count, _limit.count)


@contextlib.contextmanager
def limit_threads(count):
    """Limit loops of the calling thread to `count` threads; None keeps the limit."""
    before = _limit.count
    if count is not None:
        _limit.count = max(1, count if before is None else min(before, count))
    try:
        yield
    finally:
        _limit.count = before


def _initial_count(environment=os.environ):
    check_threads(environment)
    return int(environment.get("GPUKIT_NUM_THREADS") or environment.get("NUMBA_NUM_THREADS") or cores())
