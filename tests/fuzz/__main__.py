"""The command: python -m fuzz [--cases N] [--seed S] [--kinds a,b] [--seconds T] [--again] [--replay FOLDER]

Progress is stored in a file; the same command continues from it, unless the code has changed since.
"""

import argparse
import json
import sys
from pathlib import Path

from fuzz import campaign, found, verdicts
from fuzz.workers import Worker


def main():
    """Run a campaign and print its table; exit code 1 for a finding."""
    options = _options()
    if options.replay:
        return _replay(options.replay)
    progress = Path(options.progress)
    progress.parent.mkdir(parents=True, exist_ok=True)
    if options.again or not campaign.is_of(progress, campaign.code()):
        progress.write_text(json.dumps(campaign.code()) + "\n")
    planned = campaign.units(options.cases, options.seed, options.kinds.split(",") if options.kinds else None)
    running = campaign.Campaign(planned, progress, Path(options.keep), lambda line: print(line, flush=True))
    try:
        running.run(options.processes, options.seconds)
    except KeyboardInterrupt:
        print("Interrupted; the same command goes on from here.")
    mine = {unit: running.done[unit] for unit in planned if unit in running.done}
    print(*campaign.table(mine), sep="\n")
    print(f"{len(mine):,} of {len(planned):,} stretches are done. What was found lies in {options.keep}.")
    bad = sum(count for counts in mine.values() for verdict, count in counts.items() if verdict not in verdicts.GOOD)
    return int(bad > 0)


def _replay(folder):
    """Print the verdicts on all findings below a folder."""
    worker, bad = Worker(), 0
    for case in sorted(Path(folder).rglob("case.json")):
        kind = found.kind_of(case.parent)
        verdict, detail = worker.replay(kind, case.parent)
        bad += verdict not in verdicts.GOOD
        print(f"{case.parent.name}: {verdict} {detail}", flush=True)
    worker.close()
    return int(bad > 0)


def _options():
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=200_000, help="mutations; truncations and flips come on top")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", help="only these, with commas between")
    parser.add_argument("--processes", type=int, default=campaign.cores())
    parser.add_argument("--seconds", type=float, help="stop after so long; the same command goes on")
    parser.add_argument("--progress", default="build/fuzz.jsonl")
    parser.add_argument("--keep", default=str(found.FOUND), help="folder for what is found")
    parser.add_argument("--again", action="store_true", help="begin anew")
    parser.add_argument("--replay", metavar="FOLDER", help="run findings below a folder again, and nothing else")
    return parser.parse_args()


sys.exit(main())
