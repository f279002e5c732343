"""Distribution of tests over processes."""

import collections

import pytest
from shares import Shares, count_processes, next_share, share

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


class Node:
    """A process that notes the numbers of the tests that it is sent."""

    def __init__(self):
        self.sent = []

    def send_runtest_some(self, numbers):
        self.sent.append(numbers)


def scheduler_of(sizes):
    """Return (scheduler of shares with a number of tests, its only process, which has not begun)."""
    scheduler, node = Shares.__new__(Shares), Node()
    tests = {name: [f"{name}::test_{number}" for number in range(size)] for name, size in sizes.items()}
    scheduler.workqueue = collections.OrderedDict((name, dict.fromkeys(tests[name], False)) for name in tests)
    scheduler.collection, scheduler.assigned_work = [name for names in tests.values() for name in names], {}
    scheduler.add_node(node)
    return scheduler, node


@pytest.mark.parametrize(("disabled", "expected"), [("0", [19, 20]), ("1", [*range(9)])])
def test_shares_with_most_tests_come_first_where_nothing_is_compiled(disabled, expected, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", disabled)
    scheduler, node = scheduler_of({**SIZES, **FILE})
    scheduler._assign_work_unit(node)
    assert node.sent == [expected] and len(scheduler.workqueue) == len(SIZES)


def test_what_is_over_is_not_sent_again():
    scheduler, node = scheduler_of({"tests/io/a.py": 3})
    scheduler.workqueue["tests/io/a.py"]["tests/io/a.py::test_1"] = True  # by a process that crashed later
    scheduler._assign_work_unit(node)
    assert node.sent == [[0, 2]]


def test_tests_that_a_process_has_before_it():
    scheduler, node = scheduler_of({"tests/io/a.py": 2, "tests/io/b.py": 3, "tests/io/c.py": 4})
    assert scheduler._pending_of(scheduler.assigned_work[node]) == 0
    for _ in range(3):
        scheduler._assign_work_unit(node)
    for over, test in enumerate(scheduler.collection):
        assert scheduler._pending_of(scheduler.assigned_work[node]) == 9 - over
        scheduler.assigned_work[node][share(test)][test] = True
    assert scheduler._pending_of(scheduler.assigned_work[node]) == 0


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
