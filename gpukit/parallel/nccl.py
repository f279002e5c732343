"""Transport of arrays between GPUs by NCCL, with the methods of team.HostTransport.

cupy's binding takes pointers, so arrays of any library work. A stream of None is the default one. NCCL waits on the GPU
without a timeout: `wait_for_event` calls `NcclTransport.check` meanwhile. A failure aborts the communicator, so that
the process can end.
"""

import contextlib
import os
import time

import numpy as np

from gpukit._cuda import SIMULATED, cuda
from gpukit._driver import copy_in
from gpukit.parallel.team import HostTransport, TeamError

SETTINGS = {
    "NCCL_NVLS_ENABLE": "0",  # shared hosts refuse NVLink multicast, and initialization fails there
    "NCCL_RAS_ENABLE": "0",  # some hosts do not allow the listener for monitoring
    "NCCL_CGA_CLUSTER_SIZE": "0",  # clusters of four blocks need adjacent processors, which a running kernel may occupy
}


def make_gpu_transport(team, device, remark=lambda text: None):
    """Return the transport between the ranks' GPUs: NCCL if all ranks have it, otherwise the host.

    See current_team.make_transport. Communicators last as long as the team, because all ranks of a host must end them
    at the same time, which garbage collection does not.
    """
    problems = team.allgather_json(find_problem())
    if any(problems):
        remark(f"GPUs communicate through the host, which is slower: {next(filter(None, problems))}.")
        return make_staged_transport(team)
    gpus = tuple(team.allgather_json(device.index))
    if gpus not in team.communicators:
        team.communicators[gpus] = NcclTransport(team, device.index)
    return team.communicators[gpus]


def make_staged_transport(team):
    """Return the HostTransport of a rank with numba arrays on a GPU."""
    return HostTransport(team, lambda array: array.copy_to_host(), copy_in)


def find_problem():
    """Return why NCCL cannot be used here, '' if it can."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        from cupy.cuda import nccl

        nccl.get_version()
    except Exception as error:  # cupy, its NCCL or the driver is missing; the type differs by package
        return f"NCCL cannot be loaded ({type(error).__name__}: {error})".splitlines()[0]
    return ""


class NcclTransport:
    """The NCCL communicator of a Team's GPUs; index: number of this rank's GPU in this process."""

    def __init__(self, team, index):
        from cupy.cuda import nccl, runtime

        self.nccl, self.team = nccl, team
        runtime.setDevice(index)
        unique_id = None if team.rank else np.frombuffer(nccl.get_unique_id(), np.uint8)
        self.communicator = nccl.NcclCommunicator(team.size, bytes(team.broadcast(unique_id)), team.rank)
        team.abort_at_failure(self.communicator.abort)
        names = "uint8", "int32", "uint32", "int64", "float32", "float64"
        self.dtypes = {np.dtype(name): getattr(nccl, f"NCCL_{name.upper()}") for name in names}

    @contextlib.contextmanager
    def group(self):
        """See HostTransport."""
        with self._explained():
            self.nccl.groupStart()
            try:
                yield
            finally:
                self.nccl.groupEnd()

    def send(self, rank, array, stream=None):
        """See HostTransport."""
        with self._explained():
            self.communicator.send(*self._buffer(array), rank, stream_pointer(stream))

    def receive(self, rank, array, stream=None):
        """See HostTransport."""
        with self._explained():
            self.communicator.recv(*self._buffer(array), rank, stream_pointer(stream))

    def broadcast(self, array, root=0, stream=None):
        """See HostTransport."""
        address, count, dtype = self._buffer(array)
        with self._explained():
            self.communicator.broadcast(address, address, count, dtype, root, stream_pointer(stream))

    def allreduce(self, array, stream=None, out=None):
        """See HostTransport."""
        address, count, dtype = self._buffer(array)
        target = address if out is None else device_address(out)
        with self._explained():
            self.communicator.allReduce(address, target, count, dtype, self.nccl.NCCL_SUM, stream_pointer(stream))

    def alltoall(self, parts, out, stream=None):
        """See HostTransport. Queued on the stream, after the work on the default stream."""
        if stream is not None:
            record_event().wait(stream)
        with self.group():
            for rank, array in parts.items():
                self.send(rank, array, stream)
            for rank, array in out.items():
                self.receive(rank, array, stream)

    def wait(self, stream=None):
        """See HostTransport."""
        event = record_event(*([] if stream is None else [stream]))
        wait_for_event(event, self)
        event.wait()

    def check(self):
        """Raise the error of another rank, or one that NCCL reports."""
        self.team.check()
        try:
            self.communicator.check_async_error()
        except (self.nccl.NcclError, KeyError) as error:  # cupy lacks the text of NCCL's newer errors
            raise TeamError(f"NCCL has lost another rank ({error}): killed, or out of memory.") from None

    @contextlib.contextmanager
    def _explained(self):
        """Raise another rank's error for NCCL's own, which follows once the communicator is aborted."""
        try:
            yield
        except self.nccl.NcclError:
            self.team.check()
            raise

    def _buffer(self, array):
        """Return (address, number of elements, NCCL's dtype) of a C-contiguous device array."""
        return device_address(array), int(array.size), self.dtypes[np.dtype(array.dtype)]


def record_event(*stream):
    """Return an event after all work queued on a stream, by default the default one."""
    event = cuda.event()
    event.record(*stream)
    return event


def wait_for_event(event, transport):
    """Wait for an event on a stream with queued calls of a transport.

    Raises the error of another rank, TeamError if one has ended or is silent.
    """
    busy_until = time.monotonic() + 0.05
    while not (SIMULATED or event.query()):
        if time.monotonic() > busy_until:
            transport.check()
            time.sleep(0.001)


def device_address(array):
    """Return the address of a device array."""
    return int(array.device_ctypes_pointer.value)


def stream_pointer(stream):
    """Return the CUDA handle of a numba stream; None: the default stream."""
    return 0 if stream is None else int(stream)
