"""SIGINT and SIGTERM at random times after the first line of gpukit: 128 + n and one line, or a completed command."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from gpukit.persist import load_header
from reliability.verbs import arguments, is_whole

PATIENCE = 250  # seconds
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


def heed_signals():
    """Restore SIGINT, which a parent in the background passes on as ignored."""
    for number in CODES:
        signal.signal(number, signal.SIG_DFL)


def begun(words, **environment):
    """Start a command and wait until it handles signals."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "gpukit", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
        env={**os.environ, **environment},
    )
    while process.poll() is None and not catches(process.pid, signal.SIGTERM):
        time.sleep(0.001)
    return process


def catches(pid, number):
    """Return True if a process has a handler for a signal."""
    with open(f"/proc/{pid}/status") as file:
        mask = next(line.split()[1] for line in file if line.startswith("SigCgt"))
    return bool(int(mask, 16) >> (number - 1) & 1)


def judge(process, number):
    """Check the end of a command after a signal; return True if it was stopped."""
    out, err = process.communicate(timeout=PATIENCE)
    last = err.splitlines()[-1] if err else ""
    if process.returncode == 0:
        return False
    assert process.returncode == CODES[number] and last.startswith("Interrupted. ") and out == "", (out, err)
    assert "Traceback" not in err and err.count("Interrupted") == 1, err
    return True


def commands(folder, out):
    """Return the arguments of two commands and the file that each writes."""
    training = [*arguments("train-lshmf --checkpoint", folder, out / "ck"), "--epochs", "2000", "--quiet"]
    yield training, out / "ck"
    yield [*arguments("recommend --output", folder, out / "r.csv"), "--quiet"], out / "r.csv"


@pytest.mark.slow
def test_signals_at_random_moments(folder, tmp_path, rounds):
    chance, stopped = random.Random(0), 0
    for number in range(rounds(10)):
        for words, file in list(commands(folder, tmp_path))[number % 2 :][:1]:
            process, sent = begun(words), chance.choice(list(CODES))
            time.sleep(chance.random() ** 2)  # early more often than late
            process.send_signal(sent)
            stopped += judge(process, sent)
            left = os.listdir(tmp_path)
            assert left in ([], [file.name]), left
            assert not left or (load_header(file)["epochs_done"] > 0 if file.name == "ck" else is_whole(file))
            file.unlink(missing_ok=True)
    assert stopped > rounds(10) // 2


@pytest.mark.slow
@pytest.mark.parametrize("after", [1.0, 2.5])
def test_signals_while_code_is_compiled(folder, tmp_path, after):
    words, file = next(commands(folder, tmp_path))
    process = begun(words, GPUKIT_CACHE=str(tmp_path / "cache"))
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    assert judge(process, signal.SIGINT)
