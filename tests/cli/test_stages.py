"""Every second of a command belongs to a stage."""

import time

from gpukit import timing
from gpukit.cli.report import Stages, process_age


def test_parts_sum_to_the_time_that_passed():
    stages = Stages()
    begun = time.perf_counter() - process_age()
    time.sleep(0.02)
    stages.done("start")
    time.sleep(0.03)
    stages.done("preparing", {"training": 0.02, "neighbours": 0.005})
    stages.done("start")
    assert list(stages.seconds) == ["start", "compiling", "preparing", "training", "neighbours"]
    assert stages.seconds["training"] == 0.02 and 0.004 < stages.seconds["preparing"] < 0.02
    assert abs(sum(stages.seconds.values()) - (time.perf_counter() - begun)) < 0.02
    assert stages.line().startswith("Seconds: start ") and " in all." in stages.line()


def test_the_age_of_the_process_grows():
    age = process_age()
    time.sleep(0.05)
    assert 0 < age < process_age() < age + 5


def test_compiling_is_a_part_of_its_own():
    stages = Stages()
    stages.done("start")
    with timing.compiling():
        time.sleep(0.05)
    stages.done("reading")
    assert stages.seconds["compiling"] >= 0.05 and stages.seconds["reading"] < 0.04
