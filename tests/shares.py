"""Distribution of tests over parallel processes (pytest -n).

A file goes to one process; in tests/compile, a case with all of its targets does. xdist 3.8 marks its own groups
(--dist loadgroup) in the names of tests, which pytest 9.2 keeps elsewhere: each process then built each case again,
silently.
"""

from xdist.scheduler import LoadFileScheduling

CASES = "compile/test_compile.py"


class Shares(LoadFileScheduling):
    """Tests of one share go to one process; shares are in the order of their first tests."""

    def _split_scope(self, nodeid):
        return share(nodeid)


def share(nodeid):
    """Return the share of a test: its file, or test[case for tests named test[case-target]."""
    file = nodeid.partition("::")[0]
    return nodeid.rpartition("-")[0] or nodeid if file.endswith(CASES) else file
