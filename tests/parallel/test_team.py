"""Teams of threads, each with the sockets of a rank: what ranks do together, and what they say of one that fails."""

import os
import threading

import numpy as np
import pytest

from gpukit.errors import DataError
from gpukit.interrupt import Interrupted
from gpukit.parallel import ALONE, Team, TeamError, mailbox, sockets
from gpukit.parallel.mailbox import memory_of
from gpukit.parallel.sockets import pairs
from gpukit.parallel.team import SilenceError

LARGE = 3 << 20  # bytes that no socket takes at once


@pytest.fixture(autouse=True, params=[False, True], ids=["sockets", "memory"])
def _boxes(request, monkeypatch):
    """Short messages by the memory that ranks of many processors share, and without it."""
    monkeypatch.setattr(sockets, "cores", lambda: 1000 if request.param else 1)


def together(size, work, seconds=20.0):
    """[what work(team) returned, or raised] of each rank."""
    done, memory = [None] * size, memory_of(size)

    def messages(number, ends):
        ends = {other: end.detach() for other, end in ends.items()}
        if memory is None:
            return sockets.Messages(number, ends, seconds)
        return mailbox.Messages(number, ends, os.dup(memory), seconds)

    def rank(number, ends):
        try:
            with Team(messages(number, ends)) as team:
                done[number] = work(team)
        except Exception as error:
            done[number] = error

    threads = [threading.Thread(target=rank, args=one) for one in enumerate(pairs(size))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if memory is not None:
        os.close(memory)
    assert not any(thread.is_alive() for thread in threads)
    return done


def of_rank(rank, shape=(3, 5), dtype=np.float64):
    return np.random.default_rng(rank).integers(-50, 50, shape).astype(dtype)


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("how, naive", [("sum", np.sum), ("max", np.max), ("min", np.min)])
def test_reductions(size, how, naive):
    expected = naive([of_rank(rank) for rank in range(size)], axis=0)
    done = together(size, lambda team: (team.reduce(of_rank(team.rank), how), team.allreduce(of_rank(team.rank), how)))
    np.testing.assert_array_equal(done[0][0], expected)
    for rank, (reduced, everywhere) in enumerate(done):
        assert (reduced is None) == (rank > 0)
        np.testing.assert_array_equal(everywhere, expected)


def test_sums_are_added_in_the_order_of_ranks():
    values = [1e16, 1.0, -1e16, 1.0]
    done = together(4, lambda team: team.allreduce(np.array([values[team.rank]])))
    assert {float(total[0]) for total in done} == {1.0}


@pytest.mark.parametrize("shape", [(), (0,), (7,), (2, 3), (0, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.bool_, np.float16])
def test_arrays_arrive_as_they_are(shape, dtype):
    sent = of_rank(9, shape, dtype)
    for got in together(3, lambda team: team.broadcast(sent if team.rank == 1 else None, root=1)):
        assert got.dtype == sent.dtype and got.shape == sent.shape
        np.testing.assert_array_equal(got, sent)


def test_gathered_in_the_order_of_ranks_whatever_the_shapes():
    for gathered in together(3, lambda team: team.allgather(of_rank(team.rank, (team.rank, 2)))):
        for rank, part in enumerate(gathered):
            np.testing.assert_array_equal(part, of_rank(rank, (rank, 2)))


def test_large_arrays_go_round_a_ring():
    """All send before any receives: a socket holds less."""
    done = together(3, lambda team: [team.pass_on(np.full(LARGE, team.rank, np.uint8)) for _ in range(3)])
    for rank, passed in enumerate(done):
        assert all((part == (rank - 1) % 3).all() and part.size == LARGE for part in passed)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_everybody_to_everybody(size):
    """Parts of any shapes, from each rank to each other one."""
    parts = lambda rank: [of_rank(10 * rank + other, (rank, other + 1)) for other in range(size)]  # noqa: E731
    for rank, got in enumerate(together(size, lambda team: team.alltoall(parts(team.rank)))):
        for other, part in enumerate(got):
            np.testing.assert_array_equal(part, parts(other)[rank])


def test_several_large_messages_before_anybody_reads():
    """More than sockets hold: who sends may not wait for a rank that sends as well."""

    def work(team):
        for number in range(3):
            team.send(1 - team.rank, np.full(LARGE, 10 * number + team.rank, np.uint8))
            team.send(1 - team.rank, np.array([number]))
        return [team.receive(1 - team.rank)[0] for _ in range(6)]

    assert together(2, work, 10.0) == [[1, 0, 11, 1, 21, 2], [0, 0, 10, 1, 20, 2]]


def test_many_messages_before_anybody_reads():
    """More than sockets hold, none of them large."""

    def work(team):
        for number in range(60):
            team.send(1 - team.rank, np.full(30_000, number, np.uint8))
        return [int(team.receive(1 - team.rank)[-1]) for _ in range(60)]

    assert together(2, work, 10.0) == [list(range(60))] * 2


@pytest.mark.parametrize("shape", [(5,), (2, 3), (1, 2, 3)])
def test_numbers_arrive_where_processors_like_them(shape):
    for got in together(2, lambda team: team.broadcast(of_rank(1, shape))):
        assert got.flags.aligned and got.flags.writeable and got.flags.c_contiguous


def test_large_sums():
    for total in together(2, lambda team: team.allreduce(np.full(LARGE // 8, 1.0 + team.rank))):
        assert (total == 3.0).all()


def test_what_is_returned_may_be_written_to():
    def work(team):
        got = team.broadcast(np.zeros(3))
        got += team.rank
        return got

    assert [float(got[0]) for got in together(3, work)] == [0.0, 1.0, 2.0]


def test_a_barrier_waits_for_all():
    late, seen = threading.Event(), []

    def work(team):
        if team.rank == 1:
            late.wait(0.2)
            seen.append("late")
        team.barrier()
        seen.append("past")

    together(3, work)
    assert seen == ["late", "past", "past", "past"]


def test_alone():
    array = of_rank(0)
    for got in (ALONE.broadcast(array), ALONE.reduce(array), ALONE.allreduce(array), ALONE.pass_on(array)):
        np.testing.assert_array_equal(got, array)
    np.testing.assert_array_equal(ALONE.allgather(array), [array])
    ALONE.barrier()
    with ALONE as team:
        assert (team.rank, team.size, team.others) == (0, 1, [])


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_failure_is_told_to_all(failing):
    def work(team):
        if team.rank == failing:
            raise DataError("row 7 has no rating.")
        return team.allreduce(np.ones(2))

    done = together(3, work)
    assert isinstance(done[failing], DataError)
    for rank in {0, 1, 2} - {failing}:
        assert isinstance(done[rank], TeamError), done[rank]
        assert str(done[rank]) == "row 7 has no rating." and done[rank].exit_code == 2


def test_a_request_to_stop_is_told_to_all():
    """As one: nobody speaks of an error."""

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


def test_a_rank_that_has_ended_is_noticed():
    def work(team):
        if team.rank == 1:
            return team.close()
        return team.allreduce(np.ones(2))

    done = together(2, work)
    assert isinstance(done[0], TeamError) and "Rank 1 has ended" in str(done[0]) and done[0].exit_code == 1


def test_waiting_has_a_limit():
    over = threading.Event()

    def work(team):
        if team.rank == 1:
            return over.wait(20)
        try:
            return team.broadcast(root=1)
        finally:
            over.set()

    done = together(2, work, seconds=0.2)
    assert isinstance(done[0], SilenceError) and "Rank 1 has not answered for 0.2 s" in str(done[0])
