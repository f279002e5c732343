"""Device memory that one run owns: buffers that its steps reuse and that are released at its end.

Allocation takes longer than many a launch, so buffers are kept. They must not outlive the run, or a later run would
lack the memory; so no buffer is a module global. The function that starts a run opens a Workspace, passes it down and
closes it. Each thread has its own Workspace, so there are no locks.
"""

import sys


class Workspace:
    """Buffers of a run by device and name; a context manager that closes itself.

    Use it from one thread at a time.
    """

    def __init__(self):
        self._buffers = {}

    def keep(self, name, fits, make):
        """Return the buffer of a name on the current GPU if fits(buffer), else make() a new one.

        The old buffer is released before make() allocates memory.
        """
        slot = _current_gpu(), name
        if slot in self._buffers and fits(self._buffers[slot]):
            return self._buffers[slot]
        self._buffers.pop(slot, None)
        return self._buffers.setdefault(slot, make())

    def close(self):
        """Release all buffers, and the memory that numba and cupy cache, to the GPUs."""
        gpus = {gpu for gpu, _ in self._buffers}
        self._buffers.clear()
        for gpu in gpus:
            _release(gpu)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _current_gpu():
    from gpukit._cuda import cuda

    return cuda.get_current_device().id


def _release(gpu):
    """Free the memory of released buffers: numba defers it, cupy caches it."""
    from gpukit import _driver
    from gpukit._cuda import cuda

    with cuda.gpus[gpu]:
        _driver.release()
        if "cupy" in sys.modules:
            sys.modules["cupy"].get_default_memory_pool().free_all_blocks()
