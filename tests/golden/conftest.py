"""golden: the recorded answers of the file of tests."""

import pytest

from golden.command import answer
from golden.record import Record


@pytest.fixture(scope="module")
def golden(request):
    """golden.check(name, answer) compares an answer with the recorded one."""
    record = Record(request.path.stem.removeprefix("test_"))
    yield record
    record.close()


@pytest.fixture
def check(golden, tmp_path, monkeypatch):
    """check(case): run the commands of a Case and compare what they leave with what was recorded."""
    return lambda case: golden.check(case.name, answer(case, tmp_path, monkeypatch))
