"""kill -9 at random times in every verb that writes: no data are lost, incomplete or left behind.

Resumed training ends with the result of an undisturbed one. `make reliability` kills 200 times.
"""

import json

import pytest


@pytest.mark.nightly
def test_verbs_killed_at_random_moments(python, folder, tmp_path, rounds):
    tries = rounds(26)
    done = python("killer.py", tries, 0, folder, tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["tried"] == tries and found["killed"] >= tries // 4
    assert not any(found[name] for name in ("lost", "broken", "failed", "left", "unlike")), found
