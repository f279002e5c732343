"""Stop requests: deferred to a safe moment, not lost, and handled once."""

import signal
import subprocess
import sys
import threading

import pytest

from gpukit import interrupt
from gpukit.errors import DataError

BEGIN = """
import gc, signal, sys, time, weakref
from gpukit import interrupt

def press(number=signal.SIGINT):
    signal.raise_signal(number)

def wait(seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.001)
    print("nobody came")

interrupt.heed()
try:
"""
END = """
except KeyboardInterrupt as stop:
    interrupt.ignore_requests()
    press()
    press(signal.SIGTERM)
    print("stopped", interrupt.exit_code(stop))
"""


def said(body, before=""):
    """Return the output, with all of stderr, of a process that handles requests while it runs a few lines."""
    lines = "".join(f"    {line}\n" for line in body.strip().split("\n"))
    code = before + BEGIN + lines + END
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


@pytest.mark.parametrize("name, code", [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_the_exit_code_is_the_signals(name, code):
    heeded = f"import signal\nsignal.signal(signal.{name}, signal.SIG_DFL)\n"  # ignored by nohup
    assert said(f"press(signal.{name}); wait()", heeded) == f"stopped {code}\n"


def test_while_a_finalizer_runs_it_waits():
    body = "class A:\n    def __del__(self):\n        press(); print('finalized')\nA(); wait()"
    assert said(body) == "finalized\nstopped 130\n"


def test_while_a_thing_would_be_half_done_it_waits():
    body = "@interrupt.undisturbed\ndef act():\n    press(); time.sleep(0.001); print('done')\nact(); wait()"
    assert said(body) == "done\nstopped 130\n"


def test_a_message_is_not_cut_in_two():
    """After a request within a message, the next message is read correctly."""
    before = (
        "import socket, types\nfrom gpukit.parallel import sockets\n"
        "calm = types.SimpleNamespace(check=int, fail=print)\n"
        "one, other = [sockets.Messages(n, {1 - n: end}, calm) for n, end in enumerate(socket.socketpair())]\n"
        "remaining_parts = sockets.remaining_parts\n"
    )
    body = (
        "sockets.remaining_parts = lambda *a: (press(), remaining_parts(*a))[1]\n"
        "try:\n    one.send(1, bytes(3 << 20)); wait()\n"
        "finally:\n    one.send(1, b'last'); print(len(other.receive(0)), bytes(other.receive(0)))"
    )
    assert said(body, before) == "3145728 b'last'\nstopped 130\n"


def test_where_an_exception_has_nowhere_to_go_it_comes_again():
    body = "class A: pass\na = A()\nr = weakref.ref(a, lambda _: press() or time.sleep(0.001))\ndel a\nwait()"
    assert said(body) == "stopped 130\n"


def test_while_a_module_is_imported_it_waits(tmp_path):
    (tmp_path / "slow.py").write_text("import signal\nsignal.raise_signal(signal.SIGTERM)\nprint('imported')\n")
    before = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    assert said("import slow\nwait()", before) == "imported\nstopped 143\n"


@pytest.mark.slow
def test_what_somebody_swallows_comes_again():
    assert said("try:\n    press(); time.sleep(1)\nexcept BaseException:\n    pass\nwait()") == "stopped 130\n"


def test_a_second_request_does_not_disturb_the_answer_to_the_first():
    body = "try:\n    press(); wait()\nfinally:\n    press(); press(signal.SIGTERM); print('clean')"
    assert said(body) == "clean\nstopped 130\n"


@pytest.mark.parametrize("asks", [True, False])
def test_what_is_deferred_is_answered_by_who_asks_or_at_the_end(asks):
    body = (
        "with interrupt.defer() as pressed:\n    press(signal.SIGTERM); print(pressed.requested)\n"
        f"    if {asks}: raise interrupt.Interrupted(pressed.requested)\n    print('to the end')\nwait()"
    )
    assert said(body) == "15\n" + "to the end\n" * (not asks) + "stopped 143\n"


@pytest.mark.parametrize("failing", [None, DataError("the disk is full"), KeyError("a mistake")])
@pytest.mark.parametrize("number", [None, 15])
def test_what_is_done_before_an_answer(number, failing):
    """The request is answered whatever happens in between, with the reason; mistakes are not hidden."""
    expected = failing if number is None or isinstance(failing, KeyError) else interrupt.Interrupted(number)
    found = None
    try:
        with interrupt.raise_at_end(number):
            if failing is not None:
                raise failing
    except (Exception, KeyboardInterrupt) as error:
        found = error
    assert type(found) is type(expected) and getattr(found, "number", None) == getattr(expected, "number", None)
    assert not isinstance(found, interrupt.Interrupted) or found.__cause__ is failing


def test_what_is_ignored_stays_ignored():
    before = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    assert said("press(signal.SIGHUP); print('on'); press(); wait()", before) == "on\nstopped 130\n"


def test_without_a_command_handlers_are_the_users(monkeypatch):
    got = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: got.append(number))
    try:
        with interrupt.defer() as pressed:
            signal.raise_signal(signal.SIGTERM)
            assert pressed.requested == signal.SIGTERM and not got
        assert got == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_in_another_thread_nothing_is_deferred():
    seen = []

    def work():
        with interrupt.defer() as pressed:
            seen.append(pressed.requested)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [None]


def test_what_comes_when_all_is_over_changes_nothing():
    """A rank is stopped by signals that it alone handles; other processes keep their handlers."""
    lines = (
        "import signal; from gpukit import interrupt; interrupt.heed()",
        "signal.signal(signal.SIGUSR1, lambda *_: print('late')); interrupt.ignore_requests()",
        "signal.raise_signal(signal.SIGUSR1); print(signal.getsignal(signal.SIGUSR2).name)",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "SIG_DFL\n", "")
