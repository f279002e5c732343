"""Samples of a step's time."""

import time


def seconds(run, repeat, warm_up=1, clock=time.perf_counter):
    """[seconds of run() by a clock] after some calls that do not count; run must not return before its work is done."""
    for _ in range(warm_up):
        run()
    samples = []
    for _ in range(repeat):
        begun = clock()
        run()
        samples.append(clock() - begun)
    return samples


def milliseconds(run, repeat, warm_up=1):
    """`seconds` in milliseconds."""
    return [1e3 * sample for sample in seconds(run, repeat, warm_up)]


def gpu_milliseconds(run, repeat, warm_up=1):
    """[milliseconds of what run() queues on the GPU] by events, after some calls that do not count."""
    from gpukit._cuda import cuda

    samples = []
    for turn in range(warm_up + repeat):
        begin, end = cuda.event(), cuda.event()
        begin.record()
        run()
        end.record()
        end.synchronize()
        if turn >= warm_up:
            samples.append(float(cuda.event_elapsed_time(begin, end)))
    return samples


def queued_milliseconds(run, repeat, hold, warm_up=5):
    """[milliseconds of run()] on the GPU, each between two events, after some calls that do not count.

    hold() queues work that keeps the GPU busy until everything is queued behind it: a step shorter than its launch
    from Python is then timed without it.
    """
    from gpukit._cuda import cuda

    events = [cuda.event() for _ in range(repeat + 1)]
    for _ in range(warm_up):
        run()
    cuda.synchronize()
    hold()
    for number, event in enumerate(events):
        event.record()
        if number < repeat:
            run()
    events[-1].synchronize()
    return [float(cuda.event_elapsed_time(begin, end)) for begin, end in zip(events, events[1:])]
