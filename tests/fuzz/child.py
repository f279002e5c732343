"""A process that runs cases, requested and reported in lines of JSON.

In: {"kind", "mode", "seed", "first", "count"}, or {"folder"} of a finding. Out, for each case: [index, verdict,
detail]; before the first use of a kind, ["ready", kind] after its samples have been read. Memory is limited to theirs
and ROOM more.
"""

import faulthandler
import json
import os
import resource
import sys
import tempfile
from pathlib import Path

ROOM = 512 << 20  # bytes of address space in addition to the samples of all kinds so far
THREADS = {"NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}


def serve(jobs, answers):
    """Answer every line until the input ends."""
    known = set()
    for line in jobs:
        job = json.loads(line)
        if job["kind"] not in known:
            _warm_up(job["kind"])
            known.add(job["kind"])
            _send(answers, ["ready", job["kind"]])
        for answer in _answers(job):
            _send(answers, answer)


def _answers(job):
    """Yield [index, verdict, detail] of the cases of a job."""
    from fuzz import cases, found, verdicts

    if "folder" in job:
        yield [0, *found.replayed(Path(job["folder"]))]
        return
    for index in range(job["first"], job["first"] + job["count"]):
        yield [index, *verdicts.judged(cases.Case(job["kind"], job["mode"], job["seed"], index))]


def _warm_up(name):
    """Read every unmodified sample of a kind without a limit.

    Afterwards the limit is ROOM above the used memory.
    """
    import numpy as np

    from fuzz import cases, verdicts

    _limit(resource.RLIM_INFINITY)
    kind = cases.kind_of(name)
    for sample in cases.samples(name):
        uses = [kind.uses(np.random.default_rng(seed)) for seed in range(6)]
        found = [verdicts.verdict_on(name, cases.Input(sample, use, sample), "cut") for use in uses]
        if verdicts.RESULT not in [one.verdict for one in found]:
            raise AssertionError(f"a sample of {name} is no good ({sample.path}): {found}")
    _limit(_address_space() + ROOM)


def _limit(size):
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))


def _address_space():
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _send(answers, answer):
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def main():
    """Communicate through the original stdin and stdout.

    The library gets an empty stdin and stderr.
    """
    faulthandler.enable()
    jobs, answers = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(prefix="fuzz-child") as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        serve(jobs, answers)


if __name__ == "__main__":
    sys.exit(main())
