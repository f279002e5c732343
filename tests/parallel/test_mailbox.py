"""Messages by shared memory mixed with messages by sockets: order, messages before an end, sleeping readers."""

import os
import threading
import time

import numpy as np
import pytest

from gpukit.parallel import mailbox, sockets
from gpukit.parallel.team import SilenceError, TeamError

SHORT, LONG = 40, mailbox.BOX_BYTES  # bytes of a message for the box, for the socket


@pytest.fixture
def two(monkeypatch):
    """The Messages of two ranks."""
    monkeypatch.setattr(sockets, "cores", lambda: 4)
    monkeypatch.setattr(mailbox.platform, "machine", lambda: mailbox.ORDERED_MACHINES[0])
    memory = mailbox.allocate_boxes(2)
    both = [
        mailbox.Messages(rank, {other: end.detach() for other, end in ends.items()}, os.dup(memory), 5.0)
        for rank, ends in enumerate(sockets.make_socket_pairs(2))
    ]
    os.close(memory)
    yield both
    for messages in both:
        messages.close()


def message(number, size):
    return np.full(max(size, 8), number % 251, np.uint8).tobytes()


def uses_box(messages, send):
    """Return True if send() stores its message in the box of rank 1."""
    before = messages.outgoing[1].sender[0]
    send()
    return messages.outgoing[1].sender[0] != before


def test_short_messages_use_the_box(two):
    first, second = two
    assert uses_box(first, lambda: first.send(1, message(1, SHORT)))
    assert not uses_box(first, lambda: first.send(1, message(2, SHORT)))  # the previous message is still there
    assert bytes(second.receive(0)) == message(1, SHORT)
    assert uses_box(first, lambda: first.send(1, message(3, SHORT)))  # while the second is on the socket
    assert not uses_box(first, lambda: first.send(1, message(4, LONG)))
    assert [bytes(second.receive(0)) for _ in range(3)] == [message(2, SHORT), message(3, SHORT), message(4, LONG)]
    assert not uses_box(first, lambda: first.send(1, message(5, LONG)))
    assert bytes(second.receive(0)) == message(5, LONG)


def test_the_largest_message_of_a_box(two):
    first, second = two
    for size, fits in (
        (mailbox.BOX_BYTES - mailbox.HEADER_BYTES, True),
        (mailbox.BOX_BYTES - mailbox.HEADER_BYTES + 1, False),
    ):
        assert uses_box(first, lambda size=size: first.send(1, message(7, size))) == fits
        assert bytes(second.receive(0)) == message(7, size)


def test_a_sleeping_reader_is_woken_by_the_socket(two, monkeypatch):
    """If sender and reader missed each other's write, the reader sees the box after SLEEP_SECONDS."""
    first, second = two
    for missed in (False, True):
        received = []
        thread = threading.Thread(target=lambda received=received: received.append(bytes(second.receive(0))))
        thread.start()
        box, start = first.outgoing[1], time.monotonic()
        while not box.reader[1] and time.monotonic() - start < 5:
            time.sleep(0.001)
        assert box.reader[1]
        if missed:
            box.reader[1] = 0
        assert uses_box(first, lambda: first.send(1, message(8, SHORT))) == missed
        thread.join(5)
        assert received == [message(8, SHORT)] and not box.reader[1]


def test_a_header_that_arrives_before_the_box_is_polled(two, monkeypatch):
    """The message in the box was sent before the one on the socket."""
    first, second = two
    poll_socket = second._poll_socket

    def send_and_poll(rank):
        if not sent:
            sent.extend(number for number in (1, 2) if first.send(1, message(number, SHORT)) is None)
        poll_socket(rank)

    sent = []
    monkeypatch.setattr(second, "_poll_socket", send_and_poll)
    assert [bytes(second.receive(0)) for _ in range(2)] == [message(1, SHORT), message(2, SHORT)]
    assert sent == [1, 2]


@pytest.mark.parametrize("seed", range(4))
def test_messages_of_all_sizes_arrive_in_order(two, seed):
    """Both ranks send and receive in random order; some messages are larger than the buffer of a socket."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice([8, SHORT, LONG, 3 << 20], size=(2, 600), p=[0.5, 0.3, 0.18, 0.02])
    wrong, order = [], rng.random((2, 2400)) < 0.5

    def work(rank):
        messages, sent, received, other = two[rank], 0, 0, 1 - rank
        for sends in order[rank]:
            if sends and sent < 600:
                messages.send(other, message(sent, sizes[rank, sent]))
                sent += 1
            elif not sends and received < sent:
                if bytes(messages.receive(other)) != message(received, sizes[other, received]):
                    wrong.append((rank, received))
                received += 1

    threads = [threading.Thread(target=work, args=[rank]) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("sizes", [[SHORT], [SHORT, SHORT], [LONG, SHORT], [SHORT, LONG], []])
def test_messages_before_an_end(two, sizes):
    """Messages that a rank has sent before it ended are received, then its end is reported."""
    first, second = two
    for number, size in enumerate(sizes):
        first.send(1, message(number, size))
    first.close()
    for number, size in enumerate(sizes):
        assert bytes(second.receive(0)) == message(number, size)
    with pytest.raises(TeamError, match="Rank 0 has ended"):
        second.receive(0)


def test_timeout(two):
    two[1].seconds = 0.1
    with pytest.raises(SilenceError, match=r"Rank 0 has not answered for 0\.1 s"):
        two[1].receive(0)
    assert not two[0].outgoing[1].reader[1]


@pytest.mark.parametrize("cores, machine", [(3, "x86_64"), (64, "aarch64")])
def test_sockets_only(cores, machine, monkeypatch):
    """With few processors, and with processors that reorder writes."""
    monkeypatch.setattr(sockets, "cores", lambda: cores)
    monkeypatch.setattr(mailbox.platform, "machine", lambda: machine)
    assert mailbox.allocate_boxes(2) is None
