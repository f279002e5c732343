"""Messages by memory that ranks share, mixed with those by sockets: their order, their last words, who sleeps."""

import os
import threading
import time

import numpy as np
import pytest

from gpukit.parallel import mailbox, sockets
from gpukit.parallel.team import SilenceError, TeamError

SHORT, LONG = 40, mailbox.ROOM  # bytes: of the box, of the socket


@pytest.fixture
def two(monkeypatch):
    """Messages of two ranks."""
    monkeypatch.setattr(sockets, "cores", lambda: 4)
    monkeypatch.setattr(mailbox.platform, "machine", lambda: mailbox.IN_ORDER[0])
    memory = mailbox.memory_of(2)
    both = [
        mailbox.Messages(rank, {other: end.detach() for other, end in ends.items()}, os.dup(memory), 5.0)
        for rank, ends in enumerate(sockets.pairs(2))
    ]
    os.close(memory)
    yield both
    for one in both:
        one.close()


def message(number, size):
    return np.full(max(size, 8), number % 251, np.uint8).tobytes()


def way_of(one, send):
    """Whether what `send` sends lies in the box of rank 1."""
    before = one.out[1].of_sender[0]
    send()
    return one.out[1].of_sender[0] != before


def test_short_messages_lie_in_the_box(two):
    first, second = two
    assert way_of(first, lambda: first.send(1, message(1, SHORT)))
    assert not way_of(first, lambda: first.send(1, message(2, SHORT)))  # the one before is still there
    assert bytes(second.receive(0)) == message(1, SHORT)
    assert way_of(first, lambda: first.send(1, message(3, SHORT)))  # while the second is on its way
    assert not way_of(first, lambda: first.send(1, message(4, LONG)))
    assert [bytes(second.receive(0)) for _ in range(3)] == [message(2, SHORT), message(3, SHORT), message(4, LONG)]
    assert not way_of(first, lambda: first.send(1, message(5, LONG)))
    assert bytes(second.receive(0)) == message(5, LONG)


def test_what_fits_a_box(two):
    first, second = two
    for size, fits in ((mailbox.ROOM - mailbox.HEAD, True), (mailbox.ROOM - mailbox.HEAD + 1, False)):
        assert way_of(first, lambda size=size: first.send(1, message(7, size))) == fits
        assert bytes(second.receive(0)) == message(7, size)


def test_who_sleeps_is_woken_by_the_socket(two, monkeypatch):
    """Or sees the box a moment later, where sender and reader did not see what the other has written."""
    first, second = two
    for blind in (False, True):
        got = []
        thread = threading.Thread(target=lambda got=got: got.append(bytes(second.receive(0))))
        thread.start()
        box, begun = first.out[1], time.monotonic()
        while not box.of_reader[1] and time.monotonic() - begun < 5:
            time.sleep(0.001)
        assert box.of_reader[1]
        if blind:
            box.of_reader[1] = 0
        assert way_of(first, lambda: first.send(1, message(8, SHORT))) == blind
        thread.join(5)
        assert got == [message(8, SHORT)] and not box.of_reader[1]


def test_a_head_that_comes_before_the_box_is_looked_at(two, monkeypatch):
    """What was put into the box meanwhile was sent before."""
    first, second = two
    knock = second._knock

    def late(rank):
        if not sent:
            sent.extend(number for number in (1, 2) if first.send(1, message(number, SHORT)) is None)
        knock(rank)

    sent = []
    monkeypatch.setattr(second, "_knock", late)
    assert [bytes(second.receive(0)) for _ in range(2)] == [message(1, SHORT), message(2, SHORT)]
    assert sent == [1, 2]


@pytest.mark.parametrize("seed", range(4))
def test_messages_of_all_sizes_arrive_in_their_order(two, seed):
    """Both ranks send and read in turns of their own; some messages are more than a socket takes at once."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice([8, SHORT, LONG, 3 << 20], size=(2, 600), p=[0.5, 0.3, 0.18, 0.02])
    wrong, turns = [], rng.random((2, 2400)) < 0.5

    def work(rank):
        one, sent, got, other = two[rank], 0, 0, 1 - rank
        for sends in turns[rank]:
            if sends and sent < 600:
                one.send(other, message(sent, sizes[rank, sent]))
                sent += 1
            elif not sends and got < sent:
                if bytes(one.receive(other)) != message(got, sizes[other, got]):
                    wrong.append((rank, got))
                got += 1

    threads = [threading.Thread(target=work, args=[rank]) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("sizes", [[SHORT], [SHORT, SHORT], [LONG, SHORT], [SHORT, LONG], []])
def test_last_words(two, sizes):
    """What a rank has sent before it ended is read, then its end is told."""
    first, second = two
    for number, size in enumerate(sizes):
        first.send(1, message(number, size))
    first.close()
    for number, size in enumerate(sizes):
        assert bytes(second.receive(0)) == message(number, size)
    with pytest.raises(TeamError, match="Rank 0 has ended"):
        second.receive(0)


def test_waiting_has_a_limit(two):
    two[1].seconds = 0.1
    with pytest.raises(SilenceError, match=r"Rank 0 has not answered for 0\.1 s"):
        two[1].receive(0)
    assert not two[0].out[1].of_reader[1]


@pytest.mark.parametrize("cores, machine", [(3, "x86_64"), (64, "aarch64")])
def test_where_sockets_do(cores, machine, monkeypatch):
    """On few processors, and on those that do not keep the order of what is written."""
    monkeypatch.setattr(sockets, "cores", lambda: cores)
    monkeypatch.setattr(mailbox.platform, "machine", lambda: machine)
    assert mailbox.memory_of(2) is None
