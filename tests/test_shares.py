"""Distribution of tests over processes."""

import collections

import pytest
from shares import Shares, count_processes, next_share, share
from xdist.scheduler import LoadFileScheduling

SIZES = {"tests/io/a.py": 9, "tests/svt/a.py": 5, "tests/svt/b/c.py": 5, "tests/io/b.py": 0}
FILE = {"tests/test_x.py": 2}


@pytest.mark.parametrize(
    ("own", "others", "expected"),
    [
        (None, [], "tests/svt/a.py"),
        (None, ["tests/svt/d.py"], "tests/io/a.py"),
        ("tests/io/z.py", ["tests/io/y.py"], "tests/io/a.py"),
        (None, ["tests/io/y.py", "tests/svt/y.py"], "tests/svt/a.py"),
    ],
    ids=["most tests", "another folder", "its own folder", "a folder of two"],
)
def test_a_process_stays_in_its_folder(own, others, expected):
    assert next_share(SIZES, own, others) == expected


@pytest.mark.parametrize(("own", "expected"), [(None, "tests/test_x.py"), ("tests/io/z.py", "tests/io/a.py")])
def test_files_outside_folders_come_first(own, expected):
    assert next_share({**SIZES, **FILE}, own, []) == expected


@pytest.mark.parametrize(("disabled", "expected"), [("0", "tests/test_x.py"), ("1", "tests/io/a.py")])
def test_shares_with_most_tests_come_first_where_nothing_is_compiled(disabled, expected, monkeypatch):
    given = []
    monkeypatch.setenv("NUMBA_DISABLE_JIT", disabled)
    monkeypatch.setattr(
        LoadFileScheduling, "_assign_work_unit", lambda self, node: given.append(next(iter(self.workqueue)))
    )
    queue = collections.OrderedDict((name, range(size)) for name, size in {**SIZES, **FILE}.items())
    scheduler = Shares.__new__(Shares)
    scheduler.assigned_work, scheduler.workqueue = {0: {}}, queue
    scheduler._assign_work_unit(0)
    assert given == [expected]


def test_a_tier_that_waits_has_one_process_more():
    assert [count_processes(2, tier) for tier in ("fast", "slow", "nightly", "")] == [2, 3, 2, 2]


def test_a_share_is_a_file_or_a_case_of_the_compile_tier():
    assert share("tests/io/test_a.py::test_b[c-d]") == "tests/io/test_a.py"
    case = "tests/compile/test_compile.py::test[room.scale"
    assert share(f"{case}-8.0") == share(f"{case}-9.0") == case


def test_a_passed_test_sends_one_report(pytestconfig):
    """The protocol of conftest.py comes before pytest's own, which sends three; the last one in the list is first."""
    hooks = pytestconfig.hook.pytest_runtest_protocol.get_hookimpls()
    first = [hook for hook in hooks if not (hook.wrapper or hook.hookwrapper)][-1]
    assert first.plugin_name.endswith("conftest.py")
