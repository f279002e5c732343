"""Rendezvous of ranks by environment variables, which any program that starts processes can set.

| variable             | contents                                                                                  |
|----------------------|-------------------------------------------------------------------------------------------|
| GPUKIT_RANKS         | number of ranks                                                                           |
| GPUKIT_RANK          | number of this rank, from 0                                                               |
| GPUKIT_ADDRESS       | where rank 0 listens: host:port, or @name for a socket of this machine without a file     |
| GPUKIT_KEY           | a random secret, the same for all ranks                                                   |
| GPUKIT_JOB           | name of the job (default: empty)                                                          |
| GPUKIT_ATTEMPT       | number of this start of the job; all ranks of a new start have a new one (default 0)      |
| GPUKIT_START_SECONDS | seconds that ranks may start later than others (default: START_SECONDS)                   |

Every connection proves the key (multiprocessing.connection), and what arrives is never unpickled.
"""

import contextlib
import json
import os
import socket
import struct
import time
from importlib import metadata
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge, wait
from operator import itemgetter
from typing import NamedTuple

from gpukit._version import __version__
from gpukit.errors import GpukitError, ParameterError
from gpukit.parallel.team import TeamError, describe_error, raise_error
from gpukit.runtime.launcher_env import launched_ranks, read_whole_number

START_SECONDS = 20.0  # of a stopped rank: with the seconds in which the others end, less than 30
ANSWER_SECONDS = 5.0  # for a step of a connection
FAULTS = OSError, EOFError, AssertionError, ValueError, AuthenticationError  # of a peer that is no rank
ENDED = "Rank {} has ended before the computation was complete: killed, or out of memory."
NAMES = "RANK", "RANKS", "ADDRESS", "KEY", "JOB", "ATTEMPT", "START_SECONDS"  # of the fields of a Rendezvous
JOINING = -1  # in place of the number of a rank that is not yet known to belong to the others


class UnreachableError(TeamError):
    """A rank does not reach another one, which therefore cannot report it."""


class Rendezvous(NamedTuple):
    """Where and as what a rank joins the others; see the module."""

    rank: int
    size: int
    address: str
    key: str
    job: str = ""
    attempt: int = 0
    seconds: float = START_SECONDS

    def environment(self, rank):
        """Return the environment variables of a rank."""
        values = self._replace(rank=rank, seconds=int(self.seconds))
        return {f"GPUKIT_{name}": str(value) for name, value in zip(NAMES, values)}


def make_rendezvous(size, address=None, **others):
    """Return the Rendezvous of a new job with a random key; address None: a socket of this machine."""
    return Rendezvous(0, size, address or f"@gpukit-{os.urandom(8).hex()}", os.urandom(16).hex(), **others)


def read_environment():
    """Return the Rendezvous of this process, None if the environment has none."""
    size, rank = launched_ranks()
    if size == 1 or "GPUKIT_RANKS" not in os.environ:
        return None
    address, key, job = (os.environ.get(f"GPUKIT_{name}", "") for name in NAMES[2:5])
    if not (address and key):
        raise ParameterError("GPUKIT_RANKS is set: set GPUKIT_ADDRESS=host:port of rank 0 and GPUKIT_KEY=secret too.")
    defaults = zip(NAMES[5:], (0, START_SECONDS))
    numbers = (read_whole_number(os.environ, f"GPUKIT_{name}", default) for name, default in defaults)
    return Rendezvous(rank, size, address, key, job, *numbers)


class Peers(NamedTuple):
    """What a rank has met. controls: {rank: Connection}, of rank 0 to all others, of others to rank 0.

    listener: its socket, which all ranks reach; places: [[host, address of the listener] of rank 0, ...].
    """

    controls: dict
    listener: socket.socket
    places: list


def meet(rendezvous):
    """Join the other ranks; return Peers. Raises an error on all ranks if one is missing or differs."""
    with contextlib.ExitStack() as opened:
        controls = opened.enter_context(refusing({}))
        if rendezvous.rank:
            controls[0] = connect(rendezvous.address, rendezvous)
        listener = opened.enter_context(listen(local_address(controls[0]) if controls else rendezvous.address))
        own = describe(rendezvous, address_of(listener))
        if rendezvous.rank:
            controls[0].send_bytes(json.dumps(own).encode())
            places = receive_places(controls[0], 0)
        else:
            ranks = [own, *(accept_rank(listener, rendezvous, controls, own) for _ in range(1, rendezvous.size))]
            places = [[rank["host"], rank["address"]] for rank in sorted(ranks, key=itemgetter("rank"))]
            for control in controls.values():
                control.send_bytes(json.dumps(places).encode())
        opened.pop_all()
    return Peers(controls, listener, places)


@contextlib.contextmanager
def refusing(controls):
    """Yield controls; send an error of the context, or a request to stop, to the ranks that have joined."""
    try:
        yield controls
    except (GpukitError, KeyboardInterrupt) as error:
        for control in controls.values():
            refuse(control, error)
        raise


def describe(rendezvous, address):
    """Return the message of a rank that joins."""
    names = () if address.startswith("@") else ("numba", "numba-cuda", "numpy")  # one machine: one installation
    versions = ", ".join((f"gpukit {__version__}", *(f"{name} {metadata.version(name)}" for name in names)))
    job = f"attempt {rendezvous.attempt} of job {rendezvous.job!r} with {rendezvous.size} ranks"
    values = {"rank": rendezvous.rank, "job": job, "versions": versions}
    return {**values, "host": socket.gethostname(), "address": address}


def accept_rank(listener, rendezvous, controls, own):
    """Return the message of the next rank that joins, whose Connection is then in controls."""
    end, refused = time.monotonic() + rendezvous.seconds, ""
    while ready := wait([listener, *controls.values()], max(0.0, end - time.monotonic())):
        for rank in (rank for rank, control in controls.items() if control in ready):
            receive_places(controls[rank], rank)  # raises its error
        try:
            control = accept(listener, rendezvous.key)
            other = json.loads(control.recv_bytes())
        except FAULTS as error:
            refused = f" A connection was refused ({type(error).__name__}: {error}): has it another GPUKIT_KEY?"
            continue
        raise_refusal(other)
        controls[JOINING] = control
        check_fit(own, other, controls)
        set_timeout(control, 0.0)
        controls[other["rank"]] = controls.pop(JOINING)
        return other
    missing = next(rank for rank in range(1, rendezvous.size) if rank not in controls)
    raise TeamError(
        f"Rank {missing} has not joined rank 0 at {rendezvous.address} for {rendezvous.seconds:g} s: it has not "
        f"started, or it does not reach this address.{refused}"
    )


def check_fit(own, other, controls):
    """Raise ParameterError if a rank that joins does not belong to rank 0."""
    rank = other["rank"]
    if other["versions"] != own["versions"]:
        raise ParameterError(
            f"Rank 0 on {own['host']} runs {own['versions']}; rank {rank} on {other['host']} runs {other['versions']}. "
            "Install the same on both."
        )
    if other["job"] != own["job"]:
        raise ParameterError(f"Rank 0 belongs to {own['job']}, rank {rank} to {other['job']}. Start all ranks again.")
    if rank in controls:
        raise ParameterError(f"Two processes are rank {rank}, on {other['host']}. Give each its own GPUKIT_RANK.")


def refuse(control, error):
    """Send an error, or a request to stop, to a rank that has joined or waits for the others."""
    code, text = describe_error(error)
    with contextlib.suppress(OSError):
        control.send_bytes(json.dumps([code, text]).encode())


def receive_places(control, rank):
    """Return the places of all ranks, or raise the error that a rank sends instead."""
    try:
        places = json.loads(control.recv_bytes())
    except FAULTS:
        raise TeamError(ENDED.format(rank)) from None
    raise_refusal(places)
    return places


def raise_refusal(message):
    """Raise the error of a message that `refuse` has sent; it may be the first one of a rank that joins."""
    if isinstance(message, list) and isinstance(message[0], int):
        raise_error(*message)


def connect_all(rendezvous, peers):
    """Return {other rank: socket} for the messages of all ranks to each other."""
    connections = {}
    for rank in range(rendezvous.rank):
        connections[rank] = connect(peers.places[rank][1], rendezvous)
        connections[rank].send_bytes(str(rendezvous.rank).encode())
    while len(connections) < rendezvous.size - 1:
        if not wait([peers.listener], START_SECONDS):
            raise TeamError(f"Another rank does not reach {address_of(peers.listener)}, or has ended.")
        with contextlib.suppress(*FAULTS):
            connection = accept(peers.listener, rendezvous.key)
            connections[int(connection.recv_bytes())] = connection
    for connection in connections.values():
        set_timeout(connection, 0.2)  # between two checks whether another rank has failed
    return {rank: socket.socket(fileno=os.dup(connection.fileno())) for rank, connection in connections.items()}


def connect(address, rendezvous):
    """Return a Connection to a rank, which may start later."""
    end, (family, place) = time.monotonic() + rendezvous.seconds, resolve(address)
    while True:
        with socket.socket(family) as attempt:
            attempt.settimeout(min(START_SECONDS, rendezvous.seconds))  # for the answer of the host
            try:
                attempt.connect(place)
                return prove_key(attempt, rendezvous.key, (answer_challenge, deliver_challenge))
            except AuthenticationError:
                text = f"Rank 0 at {address} has another GPUKIT_KEY than rank {rendezvous.rank}."
                raise ParameterError(text) from None
            except FAULTS as error:
                fault = error
        if time.monotonic() >= end or not isinstance(fault, ConnectionRefusedError):
            reason, host = getattr(fault, "strerror", None) or fault, socket.gethostname()
            raise UnreachableError(f"Rank {rendezvous.rank} on {host} does not reach {address} ({reason}).")
        time.sleep(0.01)


def accept(listener, key):
    """Return the Connection of a rank that proves the key."""
    with listener.accept()[0] as end:
        return prove_key(end, key, (deliver_challenge, answer_challenge))


def prove_key(end, key, steps):
    """Return a Connection over a socket whose other side has proved the key, as multiprocessing does it."""
    with contextlib.suppress(OSError):  # a socket of this machine has no such option
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    end.setblocking(True)
    connection = Connection(os.dup(end.fileno()))
    set_timeout(connection, ANSWER_SECONDS)
    for step in steps:
        step(connection, key.encode())
    return connection


def set_timeout(connection, seconds):
    """Make reads from and writes to a socket fail after `seconds` without a byte; 0: never."""
    limit = struct.pack("ll", int(seconds), int(1e6 * (seconds % 1)))
    with socket.socket(fileno=os.dup(connection.fileno())) as end:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)


def resolve(address):
    """Return (family, address of a socket) for host:port or @name."""
    if address.startswith("@"):
        return socket.AF_UNIX, "\0" + address[1:]
    host, _, port = address.rpartition(":")
    try:
        family, _, _, _, place = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
    except (ValueError, OverflowError, OSError) as error:
        raise ParameterError(f"GPUKIT_ADDRESS={address} is no host:port that can be found ({error}).") from None
    return family, place


def listen(address):
    """Return a listening socket."""
    family, place = resolve(address)
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(place)
        listener.listen(1024)  # ranks that connect at the same time
    except OSError as error:
        raise TeamError(f"Rank 0 cannot listen at {address} ({error.strerror}).") from None
    listener.settimeout(ANSWER_SECONDS)
    return listener


def find_address():
    """Return GPUKIT_ADDRESS, by default an unused address of this host's usual interface."""
    if address := os.environ.get("GPUKIT_ADDRESS"):
        return address
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # chooses the interface; nothing is sent
            return unused_address(probe.getsockname()[0])
        except OSError:
            return unused_address(socket.gethostname())


def unused_address(host):
    """Return an address of an interface of this host that nothing listens at."""
    with listen(f"[{host}]:0") as listener:
        return address_of(listener)


def local_address(control):
    """Return an unused address of the interface by which a Connection leaves this host."""
    with socket.socket(fileno=os.dup(control.fileno())) as end:
        return f"[{end.getsockname()[0]}]:0" if end.family != socket.AF_UNIX else make_rendezvous(2).address


def address_of(listener):
    """Return the address of a listening socket, as text."""
    name = listener.getsockname()
    return f"[{name[0]}]:{name[1]}" if listener.family != socket.AF_UNIX else "@" + name[1:].decode()
