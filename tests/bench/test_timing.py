"""Samples of a step's time do not include warm-up calls. The k-th call of a fake step takes k seconds."""

from types import SimpleNamespace

import pytest

from gpukit.bench import measurement


class Step:
    """A step whose calls take 1, 2, 3, ... seconds by its own clock."""

    def __init__(self):
        self.calls, self.now = 0, 0.0

    def __call__(self):
        self.calls += 1
        self.now += self.calls

    def clock(self):
        return self.now


class Event:
    """An event of a GPU that runs a Step; its seconds count as milliseconds."""

    def __init__(self, step):
        self.step, self.time = step, None

    def record(self):
        self.time = self.step.now

    def synchronize(self):
        assert self.time is not None


@pytest.fixture
def gpu(monkeypatch):
    """The Step that a fake GPU runs."""
    step = Step()
    elapsed = lambda begin, end: end.time - begin.time  # noqa: E731
    fake = SimpleNamespace(event=lambda: Event(step), event_elapsed_time=elapsed, synchronize=lambda: None)
    monkeypatch.setattr("gpukit._cuda.cuda", fake)
    return step


@pytest.mark.parametrize("repeat, warm_up", [(3, 2), (1, 1), (4, 0)])
def test_seconds_do_not_include_warm_up(repeat, warm_up):
    step = Step()
    samples = measurement.seconds(step, repeat, warm_up, step.clock)
    assert samples == [float(call) for call in range(warm_up + 1, warm_up + repeat + 1)]


def test_one_call_warms_up_by_default():
    step = Step()
    assert measurement.seconds(step, 2, clock=step.clock) == [2.0, 3.0]
    assert len(measurement.milliseconds(step, 2)) == 2 and step.calls == 6
    assert len(measurement.milliseconds(step, 2, warm_up=4)) == 2 and step.calls == 12


def test_long_runs_are_repeated_up_to_the_limit():
    step = Step()
    assert measurement.seconds(step, 9, clock=step.clock, limit=5.0) == [2.0, 3.0]
    assert len(measurement.seconds(step, 9, clock=step.clock, limit=0.1)) == 1


@pytest.mark.parametrize("repeat, warm_up", [(3, 2), (1, 5), (4, 0)])
def test_milliseconds_of_a_gpu_include_neither_warm_up_nor_the_busy_step(gpu, repeat, warm_up, monkeypatch):
    holds = []

    def hold():
        holds.append(gpu.calls)
        gpu.now += 1000.0

    monkeypatch.setattr(measurement, "busy_step", lambda: hold)
    assert measurement.gpu_milliseconds(gpu, repeat, warm_up) == [warm_up + 1.0 + call for call in range(repeat)]
    assert holds == [warm_up]


def test_a_training_starts_anew_after_the_warm_up():
    calls = []
    session = SimpleNamespace(
        state=lambda: "start",
        restart=lambda state: calls.append(f"restart from {state}"),
        finish=lambda: calls.append("finish"),
    )
    training, settings = SimpleNamespace(epoch=calls.append), SimpleNamespace(epochs=2)
    run = SimpleNamespace(session=session, training=training, settings=settings)
    values, times = measurement.record_training(run, lambda: len(calls))
    assert calls == [0, "finish", "restart from start", 0, "finish", 1, "finish"]
    assert values == [5, 7] and times == sorted(times)
