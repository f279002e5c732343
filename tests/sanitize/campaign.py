"""Runs of a tool over tests, side by side on one GPU, and a file of those that are done."""

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

OF_SHARED_MEMORY = ("racecheck", "synccheck")  # tools that have nothing to say of kernels without
PLANTED = {tool: f"sanitize/planted.py::test_{tool}" for tool in ("memcheck", "racecheck", "initcheck")}


class Run(NamedTuple):
    """A tool, and a test that launches kernels."""

    tool: str
    test: str


class Outcome(NamedTuple):
    """How a run ended: "clean", "found", "failed" (the test or the tool), "too long"; what was found; seconds."""

    verdict: str
    findings: list
    seconds: float


def planned(tool, part=(1, 1), only=""):
    """[Run] of a tool, each test once: those of part i of n, for kernels whose name has `only` in it."""
    wanted = [
        name
        for name, node in kernels().items()
        if only in name and (tool not in OF_SHARED_MEMORY or uses_shared_memory(node))
    ]
    tests = sorted({test for name in wanted for test in cases.tests_of(name)})
    return [Run(tool, test) for test in tests[part[0] - 1 :: part[1]]]


def judged(tool, ended, text, seconds):
    """The Outcome of a run: whether it ended in time, what it wrote. Silence counts only where the tool was at work to
    the end and the test passed."""
    found = [one for one in findings(text, kernels()) if (tool, one.kernel) not in cases.EXCEPTED]
    if found:
        return Outcome("found", found, seconds)
    if not ended:
        return Outcome("too long", [], seconds)
    return Outcome("clean" if passed(text) and counted(text) is not None else "failed", [], seconds)


class Campaign:
    """Runs and what became of them. progress: the file that says so; logs: a folder for what they wrote; limit: seconds
    that a run may take."""

    def __init__(self, progress, logs, limit, echo=print):
        self.progress, self.logs, self.limit, self.echo = Path(progress), Path(logs), limit, echo
        self.done = done_before(self.progress)
        self.logs.mkdir(parents=True, exist_ok=True)
        if not self.done:
            self.progress.parent.mkdir(parents=True, exist_ok=True)
            self.progress.write_text(json.dumps(code()))

    def left(self, runs):
        """Those that are not done."""
        return [run for run in runs if run not in self.done]

    def run(self, runs, jobs, seconds=None):
        """Do what is left, so many at once; after so many seconds nothing more is begun."""
        last = time.monotonic() + (seconds or float("inf"))
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(lambda run: time.monotonic() < last and self._one(run), self.left(runs)))

    def _one(self, run):
        outcome = self.tried(run)
        self.echo(f"{run.tool} {outcome.verdict} in {outcome.seconds:.0f} s: {run.test}")
        self.done[run] = outcome
        if outcome.verdict != "too long":  # which the next attempt begins anew
            with self.progress.open("a") as file:
                file.write("\n" + json.dumps([run, outcome]))  # behind what a kill has cut short

    def tried(self, run):
        """The Outcome of a run; what it wrote is kept."""
        begun = time.monotonic()
        ended, text = child.sanitized(run.tool, run.test, self.limit)
        self.log(run).write_text(f"{run.test}\n{text}")
        return judged(run.tool, ended, text, time.monotonic() - begun)

    def log(self, run):
        """The file of what a run wrote."""
        return self.logs / f"{run.tool}-{zlib.crc32(run.test.encode()):08x}.txt"


def done_before(progress):
    """{Run: Outcome} of a file of progress; none where the code has changed since. Lines may be cut short."""
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
    """A checksum of the library and of the cases: what was found in other code says nothing."""
    total = 0
    for home in (gpukit.__file__, __file__):
        for file in sorted(Path(home).parent.rglob("*.py")):
            total = zlib.crc32(file.read_bytes(), total)
    return f"code {total:08x}"
