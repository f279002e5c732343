"""Arrays in their places from rank to rank by way of the host, and where NCCL is missing."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpukit.device import cpu
from gpukit.parallel import TeamError, nccl
from gpukit.parallel.array_transport import HostLines
from gpukit.parallel.transport import lines_between
from parallel.test_team import of_rank, together


@pytest.mark.parametrize("size", [2, 3])
def test_arrays_are_filled_in_their_places(size):
    def work(team):
        lines, own = HostLines(team), of_rank(team.rank)
        whole, mine, got, all_of = own.copy(), own.copy(), np.zeros_like(own), np.zeros((size, *own.shape))
        lines.allreduce(whole)
        lines.broadcast(mine, 1)
        lines.allgather(own, all_of)
        with lines.together():
            lines.send((team.rank + 1) % size, own)
            lines.receive((team.rank - 1) % size, got)
        lines.check()
        return whole, mine, all_of, got

    for rank, (whole, mine, all_of, got) in enumerate(together(size, work)):
        np.testing.assert_array_equal(whole, sum(map(of_rank, range(size))))
        np.testing.assert_array_equal(mine, of_rank(1))
        np.testing.assert_array_equal(all_of, [of_rank(other) for other in range(size)])
        np.testing.assert_array_equal(got, of_rank((rank - 1) % size))


def test_everybody_to_everybody_while_work_goes_on():
    """Chunks that are under way at the same time arrive in their order; who has nothing for another leaves it out."""

    def work(team):
        lines, got = HostLines(team), {}
        for number in range(2):
            away = {other: of_rank(10 * number + team.rank) for other in team.others if team.rank + other != 3}
            got[number] = {other: np.zeros((3, 5)) for other in away}
            lines.alltoall(away, got[number])
        assert not any(array.any() for array in got[1].values())
        lines.arrive()
        return got

    for rank, got in enumerate(together(3, work)):
        for number in range(2):
            assert list(got[number]) == [other for other in range(3) if other != rank and other + rank != 3]
            for other, array in got[number].items():
                np.testing.assert_array_equal(array, of_rank(10 * number + other))


def test_lines_of_ranks_on_cpus():
    for lines in together(2, lambda team: lines_between(team, cpu())):
        assert type(lines) is HostLines


def test_without_nccl_arrays_go_by_way_of_the_host(monkeypatch):
    """Where one rank alone has it, too; which is told in a line, by every rank."""
    whys = iter(["", "NCCL cannot be loaded (ImportError: no cupy)"])
    monkeypatch.setattr(nccl, "missing", lambda: next(whys))

    def work(team):
        told = []
        return type(nccl.device_lines(team, cpu(), told.append)), told

    for kind, told in together(2, work):
        assert kind is HostLines and len(told) == 1
        assert told[0].startswith("GPUs talk by way of the host") and "no cupy" in told[0]


def test_communicators_last_as_long_as_the_team(monkeypatch):
    """One for the same GPUs, another where a rank has moved, so that all ranks make them at the same time."""
    made = []
    monkeypatch.setattr(nccl, "missing", lambda: "")
    monkeypatch.setattr(nccl, "Nccl", lambda team, index: made.append((team.rank, index)) or object())

    def work(team):
        devices = [SimpleNamespace(index=index) for index in (0, 0, 0 if team.rank else 1, 0)]
        return [nccl.device_lines(team, device) for device in devices]

    for first, again, moved, back in together(2, work):
        assert first is again is back and moved is not first
    assert sorted(made) == [(0, 0), (0, 1), (1, 0), (1, 0)]


def test_nccl_is_told_what_hosts_bear(monkeypatch):
    monkeypatch.delenv("NCCL_NVLS_ENABLE", raising=False)
    monkeypatch.setenv("NCCL_RAS_ENABLE", "1")
    nccl.missing()
    import os

    assert os.environ["NCCL_NVLS_ENABLE"] == "0" and os.environ["NCCL_RAS_ENABLE"] == "1"


class FakeWorld:
    """cupy's communicator: notes what it is told."""

    def __init__(self, *told):
        self.told = [told]
        self.lost = 0

    def check_async_error(self):
        if self.lost:
            raise RuntimeError("remote process exited")

    def __getattr__(self, name):
        return lambda *told: self.told.append((name, *told))


@pytest.mark.parametrize("made", [bytes(range(128, 256)), (1, -2, 3)], ids=["bytes", "numbers"])
def test_what_nccl_is_told(monkeypatch, made):
    """Addresses, counts, kinds and streams, of arrays that lie on a device."""
    import sys
    from types import SimpleNamespace

    kinds = ("UINT8", "INT32", "UINT32", "INT64", "FLOAT32", "FLOAT64", "SUM", "MAX", "MIN")
    groups = []
    binding = SimpleNamespace(
        **{f"NCCL_{name}": name for name in kinds},
        get_unique_id=lambda: made,
        NcclError=RuntimeError,
        NcclCommunicator=FakeWorld,
        groupStart=lambda: groups.append("start"),
        groupEnd=lambda: groups.append("end"),
    )
    runtime = SimpleNamespace(setDevice=groups.append)
    for name in ("cupy", "cupy.cuda"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(nccl=binding, runtime=runtime))

    class Array(SimpleNamespace):
        device_ctypes_pointer = SimpleNamespace(value=4096)

    def work(team):
        lines, array = nccl.Nccl(team, team.rank), Array(size=6, dtype=np.float32)
        with lines.together():
            lines.send(1, array)
            lines.receive(0, array)
        lines.broadcast(array, 1)
        lines.allreduce(Array(size=2, dtype=np.uint32), "max")
        lines.allgather(array, array)
        lines.alltoall({1: array, 2: Array(size=9, dtype=np.float64)}, {0: array})
        lines.check()
        lines.world.lost = True
        with pytest.raises(TeamError, match="NCCL has lost another rank"):
            lines.check()
        return lines.world

    worlds = together(2, work)
    for rank, world in enumerate(worlds):
        assert world.told[0] == (2, made, rank)
        assert world.told[1:] == [
            ("send", 4096, 6, "FLOAT32", 1, 0),
            ("recv", 4096, 6, "FLOAT32", 0, 0),
            ("broadcast", 4096, 4096, 6, "FLOAT32", 1, 0),
            ("allReduce", 4096, 4096, 2, "UINT32", "MAX", 0),
            ("allGather", 4096, 4096, 6, "FLOAT32", 0),
            ("send", 4096, 6, "FLOAT32", 1, 0),
            ("send", 4096, 9, "FLOAT64", 2, 0),
            ("recv", 4096, 6, "FLOAT32", 0, 0),
        ]
    assert sorted(map(str, groups)) == ["0", "1", *4 * ["end"], *4 * ["start"]]
