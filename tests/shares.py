"""Distribution of tests over parallel processes (pytest -n).

A file goes to one process; in tests/compile, a case with all of its targets does. xdist 3.8 marks its own groups
(--dist loadgroup) in the names of tests, which pytest 9.2 keeps elsewhere: each process then built each case again,
silently. Files of one folder use the same compiled functions, so a process continues with the folder that it began.
The simulator compiles nothing: the shares with most tests come first, so that the processes end together.
"""

import collections
import functools
import os

from xdist.scheduler import LoadFileScheduling

CASES = "compile/test_compile.py"


def count_processes(cores, tier):
    """Return the number of processes of a tier: one more than cores where tests wait for processes that they start."""
    return cores + (tier == "slow")


class Shares(LoadFileScheduling):
    """Tests of one share go to one process; its next share is of the same folder if there is one."""

    def _split_scope(self, nodeid):
        return share(nodeid)

    def _assign_work_unit(self, node):
        last = {worker: next(reversed(shares), None) for worker, shares in self.assigned_work.items()}
        own = last.pop(node, None)
        sizes = {name: len(tests) for name, tests in self.workqueue.items()}
        compiles = os.environ.get("NUMBA_DISABLE_JIT") != "1"
        chosen = next_share(sizes, own, filter(None, last.values())) if compiles else max(sizes, key=sizes.get)
        tests = self.assigned_work[node][chosen] = self.workqueue.pop(chosen)
        node.send_runtest_some([self.numbers[name] for name, is_over in tests.items() if not is_over])

    @functools.cached_property
    def numbers(self):
        """{name of a test: its number}, where xdist looks through all names for each: a second and a half."""
        return {name: number for number, name in enumerate(self.collection)}

    def _pending_of(self, workload):
        """Count from the last share back to one that is over; xdist counts all of them after each test."""
        pending = 0
        for tests in reversed(workload.values()):
            left = list(tests.values()).count(False)
            if not left:
                break
            pending += left
        return pending


def share(nodeid):
    """Return the share of a test: its file, or test[case for tests named test[case-target]."""
    file = nodeid.partition("::")[0]
    return nodeid.rpartition("-")[0] or nodeid if file.endswith(CASES) else file


def next_share(sizes, own, others):
    """Return the share that a process is given.

    It is of the folder of the process's last share; else a file outside folders, whose few tests run long commands;
    else of the folder with the most tests left, if possible of one that no other process works on.

    Parameters
    ----------
    sizes : {share: number of tests}, of the shares that are left, in the order in which a folder's are given
    own : last share of this process, or None
    others : last shares of the other processes
    """
    tests = collections.Counter()
    for name, size in sizes.items():
        tests[folder(name)] += size
    taken, current = set(map(folder, others)), own and folder(own)
    order = {name: (name.endswith(".py"), name not in taken, count) for name, count in tests.items()}
    best = current if current in tests else max(order, key=order.get)
    return next(name for name in sizes if folder(name) == best)


def folder(name):
    """Return the folder of tests/ that a share is in, or its file there."""
    return name.split("/")[1]
