"""Transport of arrays through the host and by a fake NCCL."""

import os
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from gpukit.device import cpu
from gpukit.errors import DataError
from gpukit.parallel import TeamError, nccl
from gpukit.parallel.current_team import make_transport
from gpukit.parallel.team import HostTransport
from parallel.test_team import of_rank, together


@pytest.mark.parametrize("size", [2, 3])
def test_arrays_are_filled(size):
    def work(team):
        transport, own = HostTransport(team), of_rank(team.rank)
        total, copy, received = own.copy(), own.copy(), np.zeros_like(own)
        transport.allreduce(total)
        transport.broadcast(copy, 1)
        with transport.group():
            transport.send((team.rank + 1) % size, own)
            transport.receive((team.rank - 1) % size, received)
        transport.check()
        return total, copy, received

    for rank, (total, copy, received) in enumerate(together(size, work)):
        np.testing.assert_array_equal(total, sum(map(of_rank, range(size))))
        np.testing.assert_array_equal(copy, of_rank(1))
        np.testing.assert_array_equal(received, of_rank((rank - 1) % size))


def test_concurrent_all_to_all():
    """Concurrent chunks arrive in order, and ranks without data for another omit it."""

    def work(team):
        transport, received = HostTransport(team), {}
        for number in range(2):
            sent = {other: of_rank(10 * number + team.rank) for other in team.others if team.rank + other != 3}
            received[number] = {other: np.zeros((3, 5)) for other in sent}
            transport.alltoall(sent, received[number])
        assert not any(array.any() for array in received[1].values())
        transport.wait()
        return received

    for rank, received in enumerate(together(3, work)):
        for number in range(2):
            assert list(received[number]) == [other for other in range(3) if other != rank and other + rank != 3]
            for other, array in received[number].items():
                np.testing.assert_array_equal(array, of_rank(10 * number + other))


def test_ranks_on_cpus_use_the_host():
    for transport in together(2, lambda team: make_transport(team, cpu())):
        assert type(transport) is HostTransport


def test_without_nccl_arrays_are_sent_through_the_host(monkeypatch):
    """Also if only one rank lacks it; every rank remarks it in one line."""
    problems = iter(["", "NCCL cannot be loaded (ImportError: no cupy)"])
    monkeypatch.setattr(nccl, "find_problem", lambda: next(problems))

    def work(team):
        remarks = []
        return type(nccl.make_gpu_transport(team, cpu(), remarks.append)), remarks

    for kind, remarks in together(2, work):
        assert kind is HostTransport and len(remarks) == 1
        assert remarks[0].startswith("GPUs communicate through the host") and "no cupy" in remarks[0]


def test_communicators_last_as_long_as_the_team(monkeypatch):
    """All ranks create a communicator per combination of GPUs at the same time."""
    created = []
    monkeypatch.setattr(nccl, "find_problem", lambda: "")
    monkeypatch.setattr(nccl, "NcclTransport", lambda team, index: created.append((team.rank, index)) or object())

    def work(team):
        devices = [SimpleNamespace(index=index) for index in (0, 0, 0 if team.rank else 1, 0)]
        return [nccl.make_gpu_transport(team, device) for device in devices]

    for first, again, moved, back in together(2, work):
        assert first is again is back and moved is not first
    assert sorted(created) == [(0, 0), (0, 1), (1, 0), (1, 0)]


def test_settings_of_nccl(monkeypatch):
    monkeypatch.delenv("NCCL_NVLS_ENABLE", raising=False)
    monkeypatch.setenv("NCCL_RAS_ENABLE", "1")
    nccl.find_problem()
    assert os.environ["NCCL_NVLS_ENABLE"] == "0" and os.environ["NCCL_RAS_ENABLE"] == "1"


class FakeCommunicator:
    """cupy's communicator; records its calls."""

    def __init__(self, *arguments):
        self.calls = [arguments]
        self.lost = 0

    def check_async_error(self):
        if self.lost:
            raise RuntimeError("remote process exited")

    def __getattr__(self, name):
        return lambda *arguments: self.calls.append((name, *arguments))


class Array(SimpleNamespace):
    """A device array."""

    device_ctypes_pointer = SimpleNamespace(value=4096)


def fake_nccl(monkeypatch, communicator, unique_id=b"1"):
    """Replace cupy's binding; return the list of its calls outside of communicators."""
    kinds = ("UINT8", "INT32", "UINT32", "INT64", "FLOAT32", "FLOAT64", "SUM")
    groups = []
    binding = SimpleNamespace(
        **{f"NCCL_{name}": name for name in kinds},
        get_unique_id=lambda: unique_id,
        NcclError=RuntimeError,
        NcclCommunicator=communicator,
        groupStart=lambda: groups.append("start"),
        groupEnd=lambda: groups.append("end"),
    )
    runtime = SimpleNamespace(setDevice=groups.append)
    for name in ("cupy", "cupy.cuda"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(nccl=binding, runtime=runtime))
    return groups


def test_arguments_of_nccl(monkeypatch):
    """Addresses, counts, dtypes and streams of device arrays."""
    unique_id = bytes(range(128, 256))
    groups = fake_nccl(monkeypatch, FakeCommunicator, unique_id)

    def work(team):
        transport, array = nccl.NcclTransport(team, team.rank), Array(size=6, dtype=np.float32)
        with transport.group():
            transport.send(1, array)
            transport.receive(0, array)
        transport.broadcast(array, 1)
        transport.allreduce(Array(size=2, dtype=np.uint32))
        transport.alltoall({1: array, 2: Array(size=9, dtype=np.float64)}, {0: array})
        transport.check()
        transport.communicator.lost = True
        with pytest.raises(TeamError, match="NCCL has lost another rank"):
            transport.check()
        return transport.communicator

    for rank, communicator in enumerate(together(2, work)):
        assert communicator.calls[0] == (2, unique_id, rank)
        assert communicator.calls[1:] == [
            ("send", 4096, 6, "FLOAT32", 1, 0),
            ("recv", 4096, 6, "FLOAT32", 0, 0),
            ("broadcast", 4096, 4096, 6, "FLOAT32", 1, 0),
            ("allReduce", 4096, 4096, 2, "UINT32", "SUM", 0),
            ("send", 4096, 6, "FLOAT32", 1, 0),
            ("send", 4096, 9, "FLOAT64", 2, 0),
            ("recv", 4096, 6, "FLOAT32", 0, 0),
        ]
    assert sorted(map(str, groups)) == ["0", "1", *4 * ["end"], *4 * ["start"]]


class WaitingCommunicator:
    """A communicator whose receive waits for another rank until it is aborted; later calls fail."""

    def __init__(self, *arguments):
        self.aborted, self.aborts = threading.Event(), 0

    def abort(self):
        self.aborts += 1
        self.aborted.set()

    def recv(self, *arguments):
        assert self.aborted.wait(20)

    def send(self, *arguments):
        if self.aborted.is_set():
            raise RuntimeError("invalid argument")


def test_a_failure_aborts_nccl(monkeypatch):
    """Also if the main thread waits on the GPU. The error of the other rank is raised, not NCCL's."""
    fake_nccl(monkeypatch, WaitingCommunicator)
    communicators = {}

    def work(team):
        transport = nccl.NcclTransport(team, team.rank)
        communicators[team.rank] = transport.communicator
        if team.rank:
            raise DataError("a bad value")
        transport.receive(1, Array(size=6, dtype=np.float32))
        transport.send(1, Array(size=6, dtype=np.float32))

    waiting, failed = together(2, work)
    assert isinstance(waiting, TeamError) and str(waiting) == str(failed) == "a bad value"
    assert [communicators[rank].aborts for rank in range(2)] == [1, 1]
