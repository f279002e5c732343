"""Samples of a step's time: calls that warm up are made and do not count. Time is made up: the k-th call takes k."""

from types import SimpleNamespace

import pytest

from gpukit.bench import timing


class Work:
    """A step whose calls take 1, 2, 3, ... seconds by a clock of its own."""

    def __init__(self):
        self.calls, self.now = 0, 0.0

    def __call__(self):
        self.calls += 1
        self.now += self.calls

    def clock(self):
        return self.now


class Event:
    """An event of a GPU that runs a Work; milliseconds stand for its seconds."""

    def __init__(self, work):
        self.work, self.at = work, None

    def record(self):
        self.at = self.work.now

    def synchronize(self):
        assert self.at is not None


@pytest.fixture
def gpu(monkeypatch):
    """The Work that a GPU is timed with."""
    work = Work()
    elapsed = lambda begin, end: end.at - begin.at  # noqa: E731
    fake = SimpleNamespace(event=lambda: Event(work), event_elapsed_time=elapsed, synchronize=lambda: None)
    monkeypatch.setattr("gpukit._cuda.cuda", fake)
    return work


@pytest.mark.parametrize("repeat, warm_up", [(3, 2), (1, 1), (4, 0)])
def test_seconds_after_the_calls_that_warm_up(repeat, warm_up):
    work = Work()
    found = timing.seconds(work, repeat, warm_up, work.clock)
    assert found == [float(call) for call in range(warm_up + 1, warm_up + repeat + 1)]


def test_one_call_warms_up_unless_told_otherwise():
    work = Work()
    assert timing.seconds(work, 2, clock=work.clock) == [2.0, 3.0]
    assert len(timing.milliseconds(work, 2)) == 2 and work.calls == 6
    assert len(timing.milliseconds(work, 2, warm_up=4)) == 2 and work.calls == 12


@pytest.mark.parametrize("repeat, warm_up", [(3, 2), (1, 1), (4, 0)])
def test_milliseconds_of_a_gpu_after_the_calls_that_warm_up(gpu, repeat, warm_up):
    assert timing.gpu_milliseconds(gpu, repeat, warm_up) == [warm_up + 1.0 + at for at in range(repeat)]


@pytest.mark.parametrize("repeat, warm_up", [(3, 2), (1, 5), (4, 0)])
def test_milliseconds_of_what_is_queued_count_neither_warming_up_nor_what_holds(gpu, repeat, warm_up):
    def hold():
        gpu.now += 1000.0

    assert timing.queued_milliseconds(gpu, repeat, hold, warm_up) == [warm_up + 1.0 + at for at in range(repeat)]
