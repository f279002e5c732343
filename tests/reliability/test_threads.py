"""Eight concurrent threads, forked and spawned children, in a separate process."""

import json

import pytest


@pytest.mark.slow
def test_threads_forks_and_spawned_children(python, folder, rounds):
    done = python("service.py", rounds(10), folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("wrong") == 0 and found.pop("killed") == "exit code -9"
    assert found.pop("fits") == found.pop("readings") == [True] * 8
    assert len(found) == 6 and set(found.values()) == {"right"}, found
