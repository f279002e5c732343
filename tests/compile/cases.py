"""All cases: those of every cases_<room>.py, and of a room's folder of cases_<part>.py."""

import importlib
from pathlib import Path

HERE = Path(__file__).parent
FILES = sorted(HERE.rglob("cases_*.py"), key=lambda file: file.stem)
MODULES = [".".join(file.relative_to(HERE.parent).with_suffix("").parts) for file in FILES]
CASES = [case for module in MODULES for case in importlib.import_module(module).CASES]
