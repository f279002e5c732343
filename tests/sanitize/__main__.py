"""The command: python -m sanitize [--tool T] [--part i/n] [--only NAME] [--jobs N] [--resume FILE]

Launches each kernel under a tool of compute-sanitizer. Exit code 1: a finding; 2: the tool is missing or does not see a
planted fault; 3: runs are left. The same command continues after a stop, unless the code has changed.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

from sanitize import child, choose
from sanitize.campaign import PLANTED, Campaign, Run, planned


def main():
    """Run the planned tests and print a summary."""
    options = _options()
    if options.choose:
        return choose.main(options.choose)
    if shutil.which(child.SANITIZER) is None:
        print(f"{child.SANITIZER} is not on PATH: it comes with the CUDA toolkit.")
        return 2
    if options.again:
        Path(options.resume).unlink(missing_ok=True)
    campaign = Campaign(options.resume, options.logs, options.limit, lambda line: print(line, flush=True))
    runs = planned(options.tool, options.part, options.only)
    if left := campaign.left(runs):
        planted = Run(options.tool, PLANTED.get(options.tool, ""))
        tests = [run.test for run in left] + [planted.test] * bool(planted.test)
        for text in child.warm(tests, options.jobs, options.limit):
            print("without a tool:", *text.strip().splitlines()[-1:])
        if planted.test and campaign.tried(planted).verdict != "found":
            print(
                f"{options.tool} does not see the fault of {planted.test}: what it says is in {campaign.log(planted)}"
            )
            return 2
        campaign.run(left, options.jobs, options.seconds)
    return _summary(campaign, runs)


def _summary(campaign, runs):
    """Print the findings by kernel; return the exit code."""
    outcomes = [(run, campaign.done[run]) for run in runs if run in campaign.done]
    for run, outcome in outcomes:
        for kernel, what in outcome.findings:
            print(f"{kernel or 'another kernel'}: {what} ({run.test}, {campaign.log(run)})")
        if outcome.verdict in ("failed", "too long"):
            print(f"{outcome.verdict}: {run.test} ({campaign.log(run)})")
    verdicts = [outcome.verdict for _, outcome in outcomes]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    print(f"{len(verdicts)} of {len(runs)} tests are done: {counts or 'none'}.")
    if set(verdicts) - {"clean"}:
        return 1
    return 0 if len(verdicts) == len(runs) else 3


def _part(text):
    """Return (i, n) of "i/n"."""
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a part such as 1/4")
    return int(number), int(of)


def _options():
    parser = argparse.ArgumentParser(prog="python -m sanitize", description=__doc__)
    parser.add_argument("--tool", choices=child.OPTIONS, default="memcheck")
    parser.add_argument("--part", type=_part, default=(1, 1), metavar="i/n", help="one part of n")
    parser.add_argument("--only", default="", metavar="NAME", help="kernels with this in their names")
    parser.add_argument("--jobs", type=int, default=min(4, len(os.sched_getaffinity(0))), help="processes side by side")
    parser.add_argument("--seconds", type=float, help="begin nothing more after so long")
    parser.add_argument("--limit", type=float, default=300, help="seconds that one test may take")
    parser.add_argument("--resume", default="build/sanitize.jsonl", metavar="FILE", help="what is done")
    parser.add_argument("--logs", default="build/sanitize", metavar="FOLDER", help="what the tool says")
    parser.add_argument("--again", action="store_true", help="begin anew")
    parser.add_argument(
        "--choose", nargs="+", metavar="TEST", help="run tests in the simulator and print lines for cases.py, no more"
    )
    return parser.parse_args()


sys.exit(main())
