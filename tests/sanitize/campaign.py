"""Runs of a tool over tests, in parallel on one GPU, and a file of completed ones."""

import json
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import gpukit
from sanitize import cases, child
from sanitize.kernels import kernels, uses_shared_memory
from sanitize.report import Finding, counted, findings, passed

OF_SHARED_MEMORY = ("racecheck", "synccheck")  # tools that only apply to kernels with shared memory
PLANTED = {tool: f"sanitize/planted.py::test_{tool}" for tool in ("memcheck", "racecheck", "initcheck")}


class Run(NamedTuple):
    """A tool, and a test that launches kernels."""

    tool: str
    test: str


class Outcome(NamedTuple):
    """The result of a run: "clean", "found", "failed" (the test or the tool) or "too long"; findings; seconds."""

    verdict: str
    findings: list
    seconds: float


def planned(tool, part=(1, 1), only=""):
    """Return [Run] of a tool, each test once: those of part i of n, for kernels whose name contains `only`."""
    wanted = [
        name
        for name, node in kernels().items()
        if only in name and (tool not in OF_SHARED_MEMORY or uses_shared_memory(node))
    ]
    tests = sorted({test for name in wanted for test in cases.tests_of(name)})
    return [Run(tool, test) for test in tests[part[0] - 1 :: part[1]]]


def judged(tool, ended, text, seconds):
    """Return the Outcome of a run from its time and output.

    A silent run counts only if the tool ran to the end and the test passed.
    """
    found = [one for one in findings(text, kernels()) if (tool, one.kernel) not in cases.EXCEPTED]
    if found:
        return Outcome("found", found, seconds)
    if not ended:
        return Outcome("too long", [], seconds)
    return Outcome("clean" if passed(text) and counted(text) is not None else "failed", [], seconds)


class Campaign:
    """Runs and their outcomes.

    progress: the file that stores them; logs: a folder for their output; limit: seconds of a run.
    """

    def __init__(self, progress, logs, limit, echo=print):
        self.progress, self.logs, self.limit, self.echo = Path(progress), Path(logs), limit, echo
        self.done = done_before(self.progress)
        self.logs.mkdir(parents=True, exist_ok=True)
        if not self.done:
            self.progress.parent.mkdir(parents=True, exist_ok=True)
            self.progress.write_text(json.dumps(code()))

    def left(self, runs):
        """Return the runs that are not done."""
        return [run for run in runs if run not in self.done]

    def run(self, runs, jobs, seconds=None):
        """Run the rest in `jobs` parallel processes; start nothing after the time limit."""
        last = time.monotonic() + (seconds or float("inf"))
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(lambda run: time.monotonic() < last and self._one(run), self.left(runs)))

    def _one(self, run):
        outcome = self.tried(run)
        self.echo(f"{run.tool} {outcome.verdict} in {outcome.seconds:.0f} s: {run.test}")
        self.done[run] = outcome
        if outcome.verdict != "too long":  # which the next attempt starts again
            with self.progress.open("a") as file:
                file.write("\n" + json.dumps([run, outcome]))  # after a line that a kill truncated

    def tried(self, run):
        """Return the Outcome of a run; store its output."""
        begun = time.monotonic()
        ended, text = child.sanitized(run.tool, run.test, self.limit)
        self.log(run).write_text(f"{run.test}\n{text}")
        return judged(run.tool, ended, text, time.monotonic() - begun)

    def log(self, run):
        """Return the file of a run's output."""
        return self.logs / f"{run.tool}-{zlib.crc32(run.test.encode()):08x}.txt"


def done_before(progress):
    """Return {Run: Outcome} of a progress file; {} if the code has changed. Lines may be truncated."""
    done = {}
    lines = progress.read_text().splitlines() if progress.exists() else []
    for line in lines[1:] if lines[:1] == [json.dumps(code())] else []:
        try:
            run, (verdict, found, seconds) = json.loads(line)
        except ValueError:
            continue
        done[Run(*run)] = Outcome(verdict, [Finding(*one) for one in found], seconds)
    return done


def code():
    """Return a checksum of the library and of the cases: results for other code do not count."""
    total = 0
    for home in (gpukit.__file__, __file__):
        for file in sorted(Path(home).parent.rglob("*.py")):
            total = zlib.crc32(file.read_bytes(), total)
    return f"code {total:08x}"
