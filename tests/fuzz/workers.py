"""The parent's side of a child: jobs, answers, the time limit, reports of crashes."""

import json
import os
import selectors
import subprocess
import sys
import tempfile
from pathlib import Path

from fuzz.child import THREADS
from fuzz.verdicts import CRASH, HANG

SECONDS = 20.0  # seconds of a case
PATIENCE = 6  # factor for a case that took too long, possibly because of compilation
SECONDS_OF_SAMPLES = 300.0  # seconds to start, and to compile for the samples of a kind
TESTS = Path(__file__).resolve().parent.parent


class Worker:
    """A child, started on demand and again after its death."""

    def __init__(self, seconds=SECONDS):
        self.seconds, self.process, self.known = seconds, None, set()

    def run(self, job):
        """Yield (index, verdict, detail) of the cases of a job.

        After a crash or a hang the next child continues.
        """
        job = dict(job)
        while job["count"] > 0:
            for index, verdict, detail in self._stretch(job):
                if verdict == HANG:
                    verdict, detail = self._confirmed({**job, "first": index, "count": 1}, detail)
                yield index, verdict, detail
                job["first"], job["count"] = index + 1, job["count"] - 1

    def _confirmed(self, job, detail):
        """Return (verdict, detail) of a slow case, repeated with compiled code."""
        for seconds in (PATIENCE * self.seconds, self.seconds):
            *_, verdict, detail = next(self._stretch(job, seconds))
            if verdict == HANG:
                return verdict, detail
        return verdict, detail

    def replay(self, kind, folder):
        """Return (verdict, detail) of a finding."""
        return next(self.run({"kind": kind, "folder": str(folder), "first": 0, "count": 1}))[1:]

    def close(self):
        """End the child."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.errors.close()
            self.process = None

    def _stretch(self, job, seconds=None):
        """Yield answers to a job up to its end, crash or hang."""
        if self.process is None:
            self._start()
        self._send(job)
        if job["kind"] not in self.known:
            answer = self._answer(SECONDS_OF_SAMPLES)
            if answer is None or answer[0] != "ready":
                raise RuntimeError(f"the samples of {job['kind']} cannot be read: {self._end()[1]}")
            self.known.add(job["kind"])
        for index in range(job["first"], job["first"] + job["count"]):
            answer = self._answer(seconds or self.seconds)
            if answer is None:
                yield (index, *self._end())
                return
            yield tuple(answer)

    def _start(self):
        self.errors = tempfile.TemporaryFile("w+")
        path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(TESTS))))
        environment = {**os.environ, **THREADS, "PYTHONPATH": path}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "fuzz.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env=environment,
            cwd=TESTS.parent,
        )
        self.known, self.lines = set(), b""

    def _send(self, job):
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()

    def _answer(self, seconds):
        """Return the next line; None if the child is dead or slow."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.lines:
                if not selector.select(seconds):
                    return None
                more = os.read(self.process.stdout.fileno(), 1 << 16)
                if not more:
                    self.process.wait()
                    return None
                self.lines += more
        line, _, self.lines = self.lines.partition(b"\n")
        return json.loads(line)

    def _end(self):
        """End a child that is dead or takes too long; return (verdict, detail)."""
        hangs = self.process.poll() is None
        self.process.kill()
        code = self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().splitlines()[-60:]
        self.close()
        frames = [line.strip() for line in lines if "/gpukit/" in line and line.strip().startswith("File")]
        place = f"{frames[0].rpartition('/gpukit/')[2]}" if frames else " / ".join(lines[-3:])
        return (HANG, f"more than {self.seconds:g} s") if hangs else (CRASH, f"exit code {code}: {place}")
