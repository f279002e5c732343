"""Findings, stored in folders and replayed by a test.

A folder has the files of the case and case.json.

found/<name>/case.json   {"kind", "mode", "use", "path", "sample", "verdict", "detail"}; the files are in files/
"""

import json
import re
import zlib
from pathlib import Path

from fuzz import cases, verdicts

FOUND = Path(__file__).resolve().parent / "found"
LARGEST = 200_000  # most bytes of a stored case
FOLDERS = re.compile(r"(/[\w.-]+)+/")  # folders of the machine where it was found
EACH = 2  # stored findings of one cause


def keep(case, verdict, detail, folder=FOUND):
    """Write a finding; return its folder or None.

    None if EACH of its cause exist already or it is too large.
    """
    made = cases.made(case)
    name = _name(case.kind, verdicts.Verdict(verdict, detail))
    target = next((folder / f"{name}-{k}" for k in range(EACH) if not (folder / f"{name}-{k}").exists()), None)
    if target is None or sum(map(len, made.sample.files.values())) > LARGEST:
        return None
    for file, data in made.sample.files.items():
        (target / "files" / file).parent.mkdir(parents=True, exist_ok=True)
        (target / "files" / file).write_bytes(data)
    which = cases.samples(case.kind).index(made.whole)
    facts = {"kind": case.kind, "mode": case.mode, "use": made.use, "path": made.sample.path, "sample": which}
    finding = {"verdict": verdict, "detail": FOLDERS.sub("", detail)[:600], "seed": case.seed, "index": case.index}
    (target / "case.json").write_text(json.dumps({**facts, **finding}, indent=1) + "\n")
    return target


def replayed(folder):
    """Return the Verdict on a finding, run in this process."""
    facts, files = json.loads((folder / "case.json").read_text()), folder / "files"
    held = {str(file.relative_to(files)): file.read_bytes() for file in files.rglob("*") if file.is_file()}
    whole = cases.samples(facts["kind"])[facts["sample"]]
    made = cases.Input(whole._replace(files=held, path=facts["path"]), facts["use"], whole)
    return verdicts.verdict_on(facts["kind"], made, facts["mode"])


def kind_of(folder):
    """Return the kind of a finding."""
    return json.loads((folder / "case.json").read_text())["kind"]


def _name(kind, found):
    """Return a short name of a cause, the same for all findings of it."""
    signature = verdicts.signature(kind, found)
    plain = re.sub(r"[^A-Za-z]+", "-", signature.partition("-")[2]).strip("-").lower()[:50].strip("-")
    return f"{kind}-{plain}-{zlib.crc32(signature.encode()) % 10_000:04d}"
