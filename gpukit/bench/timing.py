"""Samples of the time of a step."""

import time


def seconds(run, repeat, warm_up=1, clock=time.perf_counter):
    """Return [seconds of run() by a clock] after warm-up calls; run must wait for its work to end."""
    for _ in range(warm_up):
        run()
    samples = []
    for _ in range(repeat):
        start = clock()
        run()
        samples.append(clock() - start)
    return samples


def milliseconds(run, repeat, warm_up=1):
    """Return [milliseconds of run()] after warm-up calls."""
    return [1e3 * sample for sample in seconds(run, repeat, warm_up)]


def gpu_milliseconds(run, repeat, warm_up=1):
    """Return [milliseconds of the launches of run()] between GPU events after warm-up calls."""
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
    """Return [milliseconds of run()] between GPU events after warm-up calls.

    hold() keeps the GPU busy until all runs are queued, so that the launch overhead of short steps does not count.
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
