"""Recorded answers: plain values in expected/*.json, compared with what is seen now."""

import difflib
import hashlib
import json
import os
import re
from pathlib import Path

FOLDER = Path(__file__).parent / "expected"
WRITES = os.environ.get("GPUKIT_GOLDEN") == "write"
LONGEST = 20_000  # characters of a text that is recorded as it is; of a longer one the digest
NUMBER = re.compile(r"[-+]?\d+\.\d+(?:e[-+]?\d+)?")
DECIMALS = re.compile(r"\d\.(\d+)")
PRINTED = 6  # decimals, at most, of numbers that are printed for people
TOLERANCE = 2e-3  # of numbers with a point: sums on other processors are added in another order


class Record:
    """The answers of one file of tests, by the name of the case."""

    def __init__(self, name):
        self.path = FOLDER / f"{name}.json"
        self.known = self.read()
        self.seen = {}

    def read(self):
        """The recorded answers, none where there is no file."""
        return json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}

    def check(self, case, answer):
        """Compare an answer (dicts, lists, texts, numbers) with the recorded one, or record it."""
        assert case not in self.seen, f"{case}: two cases of one name"
        self.seen[case] = answer = plain(answer)
        if WRITES:
            return
        assert case in self.known, f"{case} has no recorded answer: GPUKIT_GOLDEN=write python -m pytest tests/golden"
        difference = compare(self.known[case], answer)
        assert not difference, f"{case} (recorded -, now +):\n{difference}"

    def close(self):
        """Write what was seen, where answers are recorded; what other cases of the file recorded stays."""
        if WRITES and self.seen:
            FOLDER.mkdir(exist_ok=True)
            lines = json.dumps({**self.read(), **self.seen}, indent=1, sort_keys=True, ensure_ascii=True)
            self.path.write_text(lines + "\n", encoding="utf-8")


def plain(answer):
    """The answer as JSON gives it back; long texts as their digest, other objects as the name of their class."""
    if isinstance(answer, dict):
        return {str(name): plain(value) for name, value in answer.items()}
    if isinstance(answer, (list, tuple)):
        return [plain(value) for value in answer]
    if hasattr(answer, "tolist"):
        return plain(answer.tolist())
    if isinstance(answer, float):
        return repr(answer)
    if isinstance(answer, str) and len(answer) > LONGEST:
        return f"{len(answer)} characters, sha256 {hashlib.sha256(answer.encode()).hexdigest()[:16]}"
    return answer if isinstance(answer, (str, int, type(None))) else f"a {type(answer).__name__}"


def compare(known, now):
    """The lines in which two answers differ, "" if they do not: numbers with a point by TOLERANCE, all else exactly."""
    before, after = lines_of(known), lines_of(now)
    if len(before) == len(after) and decimals(known) == decimals(now) and all(map(alike, before, after)):
        return ""
    return "\n".join(difflib.unified_diff(before, after, lineterm="", n=1))


def lines_of(answer):
    """An answer as lines of text."""
    return json.dumps(answer, indent=1, sort_keys=True, ensure_ascii=False).replace("\\n", "\n").split("\n")


def decimals(answer):
    """Return a list of the largest number of decimals in each printed text of an answer, PRINTED at most."""
    if isinstance(answer, str):
        return [min(PRINTED, max(map(len, DECIMALS.findall(answer)), default=0))] if "\n" in answer else []
    if isinstance(answer, dict):
        answer = [answer[name] for name in sorted(answer)]
    return [number for part in answer for number in decimals(part)] if isinstance(answer, list) else []


def alike(one, other):
    """Whether two lines are the same but for the last digits of numbers with a point."""
    if one == other:
        return True
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    pairs = zip(map(float, NUMBER.findall(one)), map(float, NUMBER.findall(other)))
    return all(abs(a - b) <= TOLERANCE * max(abs(a), abs(b), 1e-3) for a, b in pairs)
