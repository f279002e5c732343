"""Recorded answers that no case asks for any more, found from the lists of cases, whichever tests run."""

import importlib
import json
from pathlib import Path

import pytest

from golden.record import FOLDER

MODULES = sorted(path.stem for path in Path(__file__).parent.glob("test_*.py") if path.stem != Path(__file__).stem)
FIX = (
    "Take the entries out that are too many, record those that lack: GPUKIT_GOLDEN=write python -m pytest tests/golden"
)


@pytest.mark.parametrize("module", MODULES)
def test_recorded_answers_are_those_of_the_cases(module):
    recorded = json.loads((FOLDER / f"{module.removeprefix('test_')}.json").read_text(encoding="utf-8"))
    names = [case.name for case in importlib.import_module(f"golden.{module}").CASES]
    assert len(names) == len(set(names)), "two cases have one name"
    difference = {name for name in recorded.keys() ^ set(names)}
    assert not difference, f"{module}: {sorted(difference)}. {FIX}"


def test_each_file_of_answers_has_its_tests():
    assert {path.stem for path in FOLDER.iterdir()} == {module.removeprefix("test_") for module in MODULES}
