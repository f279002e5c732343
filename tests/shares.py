"""How tests are dealt to processes that run side by side (pytest -n): a file goes to one process, of tests/compile a
case with all of its targets.

xdist 3.8 marks its own groups (--dist loadgroup) in the names of tests, which pytest 9.2 keeps elsewhere: each process
built each case anew, without a word.
"""

from xdist.scheduler import LoadFileScheduling

CASES = "compile/test_compile.py"


class Shares(LoadFileScheduling):
    """Tests of one share go to one process, shares in the order of their first tests."""

    def _split_scope(self, nodeid):
        return share(nodeid)


def share(nodeid):
    """What a test is dealt with: its file, or, where tests are named test[case-target], test[case."""
    file = nodeid.partition("::")[0]
    return nodeid.rpartition("-")[0] or nodeid if file.endswith(CASES) else file
