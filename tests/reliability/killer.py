"""Verbs killed at random times: python killer.py KILLS SEED INPUTS FOLDER prints the results as JSON.

A process with all modules loaded forks a child for each run, so that a kill interrupts the computation of a verb, not
its start; forks must therefore work. The file exists at the start or not; then the verb is killed, the files are
checked, and the verb runs again.
"""

import contextlib
import io
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from gpukit.cli.main import run
from gpukit.factorization.constants import RULES
from gpukit.persist import load_arrays
from reliability.verbs import CASES, arguments, is_whole

LONGER = {"train-lshmf --checkpoint": ("--epochs", "40")}


def child(words):
    """Return the process id of a silent child that runs a verb."""
    pid = os.fork()
    if pid == 0:
        silent = os.open(os.devnull, os.O_RDWR)
        for number in (1, 2):
            os.dup2(silent, number)
        os._exit(run([*words, "--force"]))
    return pid


def finished(words):
    """Return (exit code, seconds) of a verb that is not killed."""
    begun = time.perf_counter()
    _, status = os.waitpid(child(words), 0)
    return os.waitstatus_to_exitcode(status), time.perf_counter() - begun


def killed(words, after):
    """Return True if a verb was killed before its end, after this number of seconds."""
    pid = child(words)
    time.sleep(after)
    os.kill(pid, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


class Victim:
    """A verb, the file it writes in its own folder, and the results."""

    def __init__(self, name, inputs, folder, found):
        self.name, self.inputs, self.found = name, inputs, found
        self.out = folder / name.replace(" ", "_") / CASES[name].output
        self.out.parent.mkdir()
        self.words = [*arguments(name, inputs, self.out), *LONGER.get(name, ())]
        with contextlib.redirect_stdout(io.StringIO()):
            assert run([*self.words, "--force"]) == 0, name  # here, so that its children have everything loaded
        self.seconds = min(finished(self.words)[1] for _ in range(2))  # the first run is slower

    def kill(self, chance):
        """Kill the verb once and run it again; count faults."""
        if chance.random() < 0.5:
            self.out.unlink(missing_ok=True)
        before = self.out.exists()
        self.found["killed"] += killed(self.words, chance.random() * self.seconds)
        self.found["lost"] += before and not self.out.exists()
        self.found["broken"] += self.out.exists() and not is_whole(self.out)
        self.found["parts"] += any(name.startswith(".") for name in os.listdir(self.out.parent))
        if self.name in LONGER and self.out.exists():
            self.resume()
        code, seconds = finished(self.words)
        self.seconds = min(self.seconds, seconds)  # other processes may have slowed the previous runs
        self.found["failed"] += code != 0
        self.found["left"] += any(name.startswith(".") for name in os.listdir(self.out.parent))
        self.found["tried"] += 1

    def resume(self):
        """Resume a checkpoint: the model must equal that of an undisturbed training."""
        ends = [self.out.with_name(name) for name in ("whole.gpukit", "resumed.gpukit")]
        if not ends[0].exists():
            whole = [word if word != "--checkpoint" else "--model" for word in self.words]
            assert finished([str(ends[0]) if word == str(self.out) else word for word in whole])[0] == 0
        self.found["failed"] += finished([*self.words, "--resume", "--model", str(ends[1])])[0] != 0
        one, other = (load_arrays(end)[1] for end in ends)
        same = all(np.array_equal(one[name], other[name]) for name in one if name.startswith("state."))
        self.found["unlike"] += not same
        self.found["resumed"] += 1
        self.out.unlink()


def main(kills, seed, inputs, folder):
    """Run all victims."""
    RULES.checkpoint_seconds = 0.0  # a checkpoint after each epoch
    chance, found = random.Random(seed), Counter()
    names = [name for name in CASES if "--plot" not in name]
    victims = {}
    for number in range(kills):
        name = names[number % len(names)]
        if name not in victims:
            victims[name] = Victim(name, inputs, folder, found)
        victims[name].kill(chance)
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *map(Path, sys.argv[3:]))
