"""A campaign: units of cases over children, resumable progress, the table."""

import contextlib
import json
import os
import queue
import threading
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from fuzz import found, verdicts
from fuzz.cases import Case
from fuzz.registry import kinds
from fuzz.workers import Worker

UNIT = 250  # cases that are completed together
CUTS, FLIPS = 0.2, 0.5  # truncations and flipped bits per mutation


class Unit(NamedTuple):
    """A range of cases."""

    kind: str
    mode: str
    seed: int
    first: int
    count: int


def units(cases, seed, only=None):
    """Return [Unit] of mutations, CUTS and FLIPS over kinds, at least one of each.

    The units of a kind are adjacent.
    """
    chosen = [kind for kind in kinds().values() if not only or kind.name in only]
    shares = sum(kind.share for kind in chosen)
    planned = []
    for kind in chosen:
        for mode, of_all in (("mutate", cases), ("cut", CUTS * cases), ("flip", FLIPS * cases)):
            count = max(1, round(of_all * kind.share / shares))
            planned += [Unit(kind.name, mode, seed, first, min(UNIT, count - first)) for first in range(0, count, UNIT)]
    return planned


class Campaign:
    """Units and their results; `progress` is the file that stores them, or None."""

    def __init__(self, planned, progress=None, keep_in=None, echo=lambda line: None):
        self.planned, self.progress, self.keep_in, self.echo = planned, progress, keep_in, echo
        self.lock, self.done, self.findings, self.error = threading.Lock(), {}, [], None
        if progress is not None and Path(progress).exists():
            for line in Path(progress).read_text().splitlines():
                with contextlib.suppress(ValueError):  # the line of the code; an incomplete last line
                    unit, counts = json.loads(line)
                    self.done[Unit(*unit)] = counts

    def run(self, processes, seconds=None):
        """Run the remaining units in parallel children; return True if done.

        It ends at a time limit.
        """
        left, begun = queue.SimpleQueue(), time.monotonic()
        for unit in self.planned:
            if unit not in self.done:
                left.put(unit)
        stop = threading.Event()
        threads = [threading.Thread(target=self._work, args=(left, stop)) for _ in range(processes)]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                threads[0].join(0.2)
                time.sleep(0.2)
                if seconds is not None and time.monotonic() - begun > seconds:
                    stop.set()
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        if self.error is not None:
            raise self.error
        return all(unit in self.done for unit in self.planned)

    def _work(self, left, stop):
        worker = Worker()
        try:
            while not stop.is_set():
                self._unit(worker, left.get_nowait(), stop)
        except queue.Empty:
            pass
        except RuntimeError as error:  # samples that cannot be read
            self.error = error
            stop.set()
        finally:
            worker.close()

    def _unit(self, worker, unit, stop):
        counts, begun = Counter(), time.monotonic()
        for index, verdict, detail in worker.run(unit._asdict()):
            counts[verdict] += 1
            if verdict not in verdicts.GOOD:
                self._note(Case(unit.kind, unit.mode, unit.seed, index), verdict, detail)
            if stop.is_set():
                return
        with self.lock:
            self.done[unit] = dict(counts)
            if self.progress is not None:
                with open(self.progress, "a") as file:
                    file.write(json.dumps([unit, dict(counts)]) + "\n")
        self.echo(f"{unit.kind} {unit.mode} {unit.first}: {dict(counts)} in {time.monotonic() - begun:.1f} s")

    def _note(self, case, verdict, detail):
        with self.lock:
            self.findings.append((case, verdict, detail))
            kept = found.keep(case, verdict, detail, self.keep_in) if self.keep_in is not None else None
        self.echo(f"{verdict}: {tuple(case)} {detail}{f' -> {kept.name}' if kept else ''}")


def table(done):
    """Return the lines of the table in Markdown: kind, tried, a column per verdict."""
    rows, modes = {}, {"cut": "truncations", "flip": "bits flipped"}
    for unit, counts in done.items():
        rows.setdefault(unit.kind if unit.mode == "mutate" else modes[unit.mode], Counter()).update(counts)
    total = sum(rows.values(), Counter())
    yield f"| kind | tried | {' | '.join(verdicts.VERDICTS)} |"
    yield "|---" + "|--:" * (1 + len(verdicts.VERDICTS)) + "|"
    for name, counts in [*sorted(rows.items(), key=lambda row: row[0] in modes.values()), ("all", total)]:
        numbers = (sum(counts.values()), *(counts[verdict] for verdict in verdicts.VERDICTS))
        yield f"| {name} | {' | '.join(f'{number:,}' for number in numbers)} |"


def code():
    """Return a checksum of the library and the fuzzer.

    Results of other code do not count.
    """
    import gpukit

    files = [file for home in (gpukit.__file__, __file__) for file in sorted(Path(home).parent.rglob("*.py"))]
    total = 0
    for file in files:
        total = zlib.crc32(file.read_bytes(), total)
    return f"code {total:08x}"


def is_of(progress, code):
    """Return True for a progress file that begins with this checksum."""
    return progress.exists() and progress.read_text().partition("\n")[0] == json.dumps(code)


def cores():
    """Return the number of parallel processes."""
    return len(os.sched_getaffinity(0))
