"""Arrays on GPUs from one to another by NCCL, with the names of array_transport.HostLines.

cupy's binding takes pointers, so arrays may be anybody's; a stream is what the calls are queued on, None: the default
one. NCCL waits on the GPU and without a limit: who waits for what is queued here asks `Nccl.check` meanwhile.
"""

import contextlib
import os
import time

import numpy as np

from gpukit._cuda import SIMULATED, cuda
from gpukit._driver import copy_in
from gpukit.parallel.array_transport import HostLines
from gpukit.parallel.sockets import SECONDS
from gpukit.parallel.stalled_ranks import Waited
from gpukit.parallel.team import TeamError

EAGER, PAUSE = 0.05, 0.001  # seconds of asking without a pause; of a pause
SETTINGS = {
    "NCCL_NVLS_ENABLE": "0",  # NVLink multicast is refused on shared hosts, and init fails there
    "NCCL_RAS_ENABLE": "0",  # a listener for monitoring that some hosts do not bear
    "NCCL_CGA_CLUSTER_SIZE": "0",  # blocks in fours want processors side by side, which a kernel beside may not leave
}


def device_lines(team, device, remark=lambda text: None):
    """The lines of a Team whose arrays lie on a Device (device.Device), a GPU of each rank's own: by NCCL where all
    ranks have it, else by way of the host, which remark is told in a line.

    NCCL's are made once for the same GPUs and last as long as the team: ranks of one host end a communicator together
    or wait for each other, so it must not end where Python finds that nobody needs it any more, at another time on each
    rank.
    """
    why = missing()
    reasons = [bytes(text).decode() for text in team.allgather(np.frombuffer(why.encode(), np.uint8))]
    if any(reasons):
        remark(f"GPUs talk by way of the host, which is slower: {next(filter(None, reasons))}.")
        return by_host(team)
    gpus = tuple(int(index) for index in np.concatenate(team.allgather(np.array([device.index]))))
    if gpus not in team.kept:
        team.kept[gpus] = Nccl(team, device.index)
    return team.kept[gpus]


def by_host(team):
    """The HostLines of a rank whose arrays lie on a GPU, numba's."""
    return HostLines(team, lambda array: array.copy_to_host(), copy_in)


def missing():
    """Why NCCL cannot be used here, '' where it can."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        from cupy.cuda import nccl

        nccl.get_version()
    except Exception as error:  # cupy is missing, or its NCCL is, or the driver: what there is differs by package
        return f"NCCL cannot be loaded ({type(error).__name__}: {error})".splitlines()[0]
    return ""


class Nccl:
    """The lines of a Team on GPUs; index: this rank's GPU, as this process numbers it."""

    def __init__(self, team, index):
        from cupy.cuda import nccl, runtime

        self.nccl, self.team = nccl, team
        runtime.setDevice(index)
        own = packed_id(nccl.get_unique_id()) if team.rank == 0 else None
        self.world = nccl.NcclCommunicator(team.size, unpacked_id(team.broadcast(own)), team.rank)
        self.sums = {"sum": nccl.NCCL_SUM, "max": nccl.NCCL_MAX, "min": nccl.NCCL_MIN}
        self.kinds = {
            np.dtype(np.uint8): nccl.NCCL_UINT8,
            np.dtype(np.int32): nccl.NCCL_INT32,
            np.dtype(np.uint32): nccl.NCCL_UINT32,
            np.dtype(np.int64): nccl.NCCL_INT64,
            np.dtype(np.float32): nccl.NCCL_FLOAT32,
            np.dtype(np.float64): nccl.NCCL_FLOAT64,
        }

    @contextlib.contextmanager
    def together(self):
        """See HostLines."""
        self.nccl.groupStart()
        try:
            yield
        finally:
            self.nccl.groupEnd()

    def send(self, rank, array, stream=None):
        """See HostLines."""
        self.world.send(*self._told(array), rank, pointer(stream))

    def receive(self, rank, array, stream=None):
        """See HostLines."""
        self.world.recv(*self._told(array), rank, pointer(stream))

    def broadcast(self, array, root=0, stream=None):
        """See HostLines."""
        address, count, kind = self._told(array)
        self.world.broadcast(address, address, count, kind, root, pointer(stream))

    def allreduce(self, array, how="sum", stream=None, out=None):
        """See HostLines."""
        address, count, kind = self._told(array)
        there = address if out is None else address_of(out)
        self.world.allReduce(address, there, count, kind, self.sums[how], pointer(stream))

    def allgather(self, array, out, stream=None):
        """See HostLines."""
        address, count, kind = self._told(array)
        self.world.allGather(address, address_of(out), count, kind, pointer(stream))

    def alltoall(self, parts, out, stream=None):
        """See HostLines: queued on the stream, behind what the default stream has been given so far."""
        if stream is not None:
            recorded().wait(stream)
        with self.together():
            for rank, array in parts.items():
                self.send(rank, array, stream)
            for rank, array in out.items():
                self.receive(rank, array, stream)

    def arrive(self, stream=None):
        """See HostLines."""
        arrived = recorded(*([] if stream is None else [stream]))
        wait_for(arrived, self)
        arrived.wait()

    def check(self):
        """Raise an error that NCCL has noticed on another rank meanwhile, and of one that is stopped."""
        self.team.check()
        try:
            self.world.check_async_error()
        except (self.nccl.NcclError, KeyError) as error:  # cupy has no words for NCCL's later errors
            raise TeamError(f"NCCL has lost another rank ({error}): killed, or out of memory.") from None

    def _told(self, array):
        """(address, count, NCCL's number of its dtype) of a device array, C-contiguous."""
        return address_of(array), int(array.size), self.kinds[np.dtype(array.dtype)]


def recorded(*stream):
    """An event behind all work that has been queued on a stream, by default the default one."""
    event = cuda.event()
    event.record(*stream)
    return event


def wait_for(event, lines):
    """Wait for an event of a stream on which lines' calls are queued; NCCL's own waits have no limit.

    Raises TeamError when another rank has ended, or does not answer.
    """
    so_far = Waited()
    while not (SIMULATED or event.query()):
        waited = so_far.seconds()
        if waited > SECONDS:
            raise TeamError(f"Another rank has not answered for {SECONDS:g} s. Is it stopped, or out of memory?")
        if waited > EAGER:
            lines.check()
            time.sleep(PAUSE)


def packed_id(made):
    """NCCL's unique id as an array, made of bytes, as cupy has it from 14 on, or of the numbers of earlier ones."""
    return np.array([isinstance(made, bytes), *made], np.int64)


def unpacked_id(numbers):
    """The id that `packed_id` was given."""
    return bytes(numbers[1:].tolist()) if numbers[0] else tuple(numbers[1:].tolist())


def address_of(array):
    """Where a device array lies."""
    return int(array.device_ctypes_pointer.value)


def pointer(stream):
    """What CUDA calls a numba stream; None: the default one."""
    return 0 if stream is None else int(stream)
