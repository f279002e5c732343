"""Collective operations and failures of ranks, in teams of threads."""

import socket
import threading
import time

import numpy as np
import pytest

from gpukit.errors import DataError
from gpukit.interrupt import Interrupted
from gpukit.parallel import ALONE, TeamError, heartbeat, sockets
from gpukit.parallel.current_team import open_team
from gpukit.parallel.rendezvous import make_rendezvous

LARGE = 3 << 20  # bytes, more than the buffer of a socket


@pytest.fixture(autouse=True, params=[1, 1000], ids=["sleep", "poll"])
def _cores(request, monkeypatch):
    """Ranks sleep until a message arrives, or poll first."""
    monkeypatch.setattr(sockets, "cores", lambda: request.param)


def together(size, work, address=None):
    """Return [result or exception of work(team)] of each rank."""
    results, meeting = [None] * size, make_rendezvous(size, address)

    def rank(number):
        try:
            with open_team(meeting._replace(rank=number)) as team:
                results[number] = work(team)
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=rank, args=(number,)) for number in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return results


def of_rank(rank, shape=(3, 5), dtype=np.float64):
    return np.random.default_rng(rank).integers(-50, 50, shape).astype(dtype)


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("operation, naive", [("sum", np.sum), ("max", np.max), ("min", np.min)])
def test_reductions(size, operation, naive):
    expected = naive([of_rank(rank) for rank in range(size)], axis=0)

    def work(team):
        array = of_rank(team.rank)
        return team.reduce(array, operation), team.allreduce(array, operation)

    results = together(size, work)
    np.testing.assert_array_equal(results[0][0], expected)
    for rank, (reduced, everywhere) in enumerate(results):
        assert (reduced is None) == (rank > 0)
        np.testing.assert_array_equal(everywhere, expected)


def test_sums_are_added_in_the_order_of_ranks():
    values = [1e16, 1.0, -1e16, 1.0]
    totals = together(4, lambda team: team.allreduce(np.array([values[team.rank]])))
    assert {float(total[0]) for total in totals} == {1.0}


@pytest.mark.parametrize("shape", [(), (0,), (7,), (2, 3), (0, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.bool_, np.float16])
def test_arrays_arrive_unchanged(shape, dtype):
    sent = of_rank(9, shape, dtype)
    for received in together(3, lambda team: team.broadcast(sent if team.rank == 1 else None, root=1)):
        assert received.dtype == sent.dtype and received.shape == sent.shape
        np.testing.assert_array_equal(received, sent)


def test_arrays_of_any_shapes_are_gathered_in_the_order_of_ranks():
    for gathered in together(3, lambda team: team.allgather(of_rank(team.rank, (team.rank, 2)))):
        for rank, part in enumerate(gathered):
            np.testing.assert_array_equal(part, of_rank(rank, (rank, 2)))


def test_large_arrays_are_gathered():
    """All ranks send before any receives, and a socket holds less."""
    for gathered in together(3, lambda team: team.allgather(np.full(LARGE, team.rank, np.uint8))):
        assert all((array == rank).all() and array.size == LARGE for rank, array in enumerate(gathered))


def test_several_large_messages_before_any_is_read():
    """More than sockets hold: a sending rank must not wait for another sending rank."""

    def work(team):
        for number in range(3):
            team.send(1 - team.rank, np.full(LARGE, 10 * number + team.rank, np.uint8))
            team.send(1 - team.rank, np.array([number]))
        return [team.receive(1 - team.rank)[0] for _ in range(6)]

    assert together(2, work) == [[1, 0, 11, 1, 21, 2], [0, 0, 10, 1, 20, 2]]


def test_many_messages_before_any_is_read():
    """Short ones, together more than sockets hold."""

    def work(team):
        for number in range(60):
            team.send(1 - team.rank, np.full(30_000, number, np.uint8))
        return [int(team.receive(1 - team.rank)[-1]) for _ in range(60)]

    assert together(2, work) == [list(range(60))] * 2


@pytest.mark.parametrize("shape", [(5,), (2, 3), (1, 2, 3)])
def test_received_arrays_are_aligned_and_writeable(shape):
    for received in together(2, lambda team: team.broadcast(of_rank(1, shape))):
        assert received.flags.aligned and received.flags.writeable and received.flags.c_contiguous


def test_large_sums():
    for total in together(2, lambda team: team.allreduce(np.full(LARGE // 8, 1.0 + team.rank))):
        assert (total == 3.0).all()


def test_received_arrays_belong_to_the_caller():
    def work(team):
        received = team.broadcast(np.zeros(3))
        received += team.rank
        return received

    assert [float(received[0]) for received in together(3, work)] == [0.0, 1.0, 2.0]


def test_a_barrier_waits_for_all():
    late, events = threading.Event(), []

    def work(team):
        if team.rank == 1:
            late.wait(0.2)
            events.append("late")
        team.barrier()
        events.append("past")

    together(3, work)
    assert events == ["late", "past", "past", "past"]


def test_alone():
    array = of_rank(0)
    for result in (ALONE.broadcast(array), ALONE.reduce(array), ALONE.allreduce(array)):
        np.testing.assert_array_equal(result, array)
    np.testing.assert_array_equal(ALONE.allgather(array), [array])
    ALONE.barrier()
    with ALONE as team:
        assert (team.rank, team.size, team.others) == (0, 1, [])


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_failure_is_reported_to_all(failing):
    def work(team):
        if team.rank == failing:
            raise DataError("row 7 has no rating.")
        return team.allreduce(np.ones(2))

    errors = together(3, work)
    assert isinstance(errors[failing], DataError)
    for rank in {0, 1, 2} - {failing}:
        assert isinstance(errors[rank], TeamError), errors[rank]
        assert str(errors[rank]) == "row 7 has no rating." and errors[rank].exit_code == 2


def test_a_failure_ends_the_wait_for_a_rank_that_computes():
    over, in_time = threading.Event(), []

    def work(team):
        if team.rank == 1:
            raise DataError("row 7 has no rating.")
        if team.rank == 0:
            return in_time.append(over.wait(10))
        try:
            return team.receive(0)
        finally:
            over.set()

    errors = together(3, work)
    assert str(errors[2]) == "row 7 has no rating." and str(errors[0]) == str(errors[2]), errors
    assert in_time == [True]


def test_a_stop_request_is_reported_to_all():
    """As Interrupted, not as an error."""

    def work(team):
        try:
            if team.rank == 1:
                raise Interrupted(15)
            with team:
                team.broadcast(root=1)
        except KeyboardInterrupt as stop:
            team.fail(stop)
            return type(stop), stop.number

    assert together(3, work) == [(Interrupted, 15)] * 3


def test_a_rank_that_has_ended_is_noticed(monkeypatch):
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.1)

    def work(team):
        if team.rank == 1:
            return team.close()
        return team.allreduce(np.ones(2))

    error, _ = together(2, work)
    assert isinstance(error, TeamError) and "Rank 1 has ended" in str(error) and error.exit_code == 1


@pytest.mark.parametrize("silent", [0, 1])
def test_a_silent_rank_is_lost(monkeypatch, silent):
    """Its thread does not report any more, as if the process were stopped; all others get the same message."""
    monkeypatch.setattr(heartbeat, "PATIENCE", 0.4)
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.1)
    over, noticed, beat = threading.Event(), [], heartbeat.Heartbeat._send
    monkeypatch.setattr(
        heartbeat.Heartbeat, "_send", lambda own, message: None if own.rank == silent else beat(own, message)
    )

    def work(team):
        if team.rank == silent:
            return over.wait(20)
        try:
            return team.broadcast(root=silent)
        finally:  # the second one would see its end if the first one alone had noticed its silence
            noticed.append(team.rank)
            if len(noticed) == 2:
                over.set()

    errors = together(3, work)
    expected = heartbeat.SILENT.format(silent, socket.gethostname(), 0.4)
    assert [str(error) for rank, error in enumerate(errors) if rank != silent] == [expected] * 2


def test_a_long_computation_is_no_silence(monkeypatch):
    monkeypatch.setattr(heartbeat, "PATIENCE", 0.4)
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.1)

    def work(team):
        if team.rank:
            time.sleep(0.8)
        return float(team.allreduce(np.ones(1))[0])

    assert together(2, work) == [2.0, 2.0]


def test_a_rank_that_was_stopped_with_the_others_loses_none(monkeypatch):
    """It has not looked for long, so it cannot know which of them were silent."""
    monkeypatch.setattr(heartbeat, "LATE_SECONDS", -1.0)  # every look is late
    monkeypatch.setattr(heartbeat, "PATIENCE", 0.0)
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.1)
    assert together(2, lambda team: time.sleep(0.4) or team.size) == [2, 2]
