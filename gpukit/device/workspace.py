"""Device memory that one run owns: buffers its steps use again and again, given back when it ends.

Allocating takes longer than many a launch, so buffers are kept; what is kept must not outlive the run, or a later one
would be refused for want of memory. So nothing lies in a module's globals: whoever starts a run opens a Workspace,
hands it down, and closes it. A run works in one thread, and runs of several threads have a Workspace each: no locks.
"""

import sys


class Workspace:
    """What a run keeps on its devices, by device and name; a context manager that closes itself.

    Use it from one thread at a time.
    """

    def __init__(self):
        self._kept = {}

    def keep(self, name, fits, make):
        """What is kept under a name on the current GPU, if fits(it); else make(), kept from now on.

        The old one is let go before make() asks for memory: one buffer a name and device.
        """
        slot = _current_gpu(), name
        if slot in self._kept and fits(self._kept[slot]):
            return self._kept[slot]
        self._kept.pop(slot, None)
        return self._kept.setdefault(slot, make())

    def close(self):
        """Let everything go, and give the memory that numba and cupy still hold back to the GPUs."""
        gpus = {gpu for gpu, _ in self._kept}
        self._kept.clear()
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
    """Free what was let go on a GPU: numba waits with that, and cupy keeps it for arrays to come."""
    from gpukit import _driver
    from gpukit._cuda import cuda

    with cuda.gpus[gpu]:
        _driver.release()
        if "cupy" in sys.modules:
            sys.modules["cupy"].get_default_memory_pool().free_all_blocks()
