"""All cases: those of every cases_<room>.py."""

import importlib
from pathlib import Path

CASES = [
    case
    for file in sorted(Path(__file__).parent.glob("cases_*.py"))
    for case in importlib.import_module(f"compile.{file.stem}").CASES
]
