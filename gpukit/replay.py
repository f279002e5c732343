"""The same launches, again and again: the GPU keeps them as a graph, and one call repeats them all.

A launch from Python takes longer (about 95 us with nine arrays) than many a kernel.
"""

import weakref

from gpukit._cuda import SIMULATED, cuda


class Replay:
    """Launches on one or more streams: run() repeats them, with the same arguments; the streams' order is kept, and
    they wait for one another only where a run begins and ends.

    launches: pairs of a kernel, configured, and its arguments, device arrays and numbers. streams: all that the
    launches are configured with, not the default one; the default stream waits for them, and they for it. The first
    run launches one by one, which compiles, the second one records.
    """

    def __init__(self, launches, streams):
        self.launches, self.streams, self.runs, self.graph = launches, streams, 0, None

    def run(self):
        """Repeat the launches."""
        self.runs += 1
        if self.runs == 2 and not SIMULATED:
            self.graph = Graph(self.launches, self.streams)
        if self.graph:
            self.graph.launch()
        else:
            for launch, arguments in self.launches:
                launch(*arguments)


class Graph:
    """What launches on streams are, recorded: nothing is launched until `launch`."""

    def __init__(self, launches, streams):
        from numba.cuda.cudadrv.driver import binding, driver

        self.driver, self.origin = driver, int(streams[0].handle)
        begun, ends = cuda.event(), [cuda.event() for _ in streams[1:]]
        driver.cuStreamBeginCapture(self.origin, binding.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
        try:
            begun.record(streams[0])
            for other in streams[1:]:
                begun.wait(other)
            for launch, arguments in launches:
                launch(*arguments)
            for other, end in zip(streams[1:], ends):
                end.record(other)
                end.wait(streams[0])
        finally:
            graph = driver.cuStreamEndCapture(self.origin)
        self.executable = driver.cuGraphInstantiate(graph, 0)
        driver.cuGraphDestroy(graph)
        weakref.finalize(self, driver.cuGraphExecDestroy, self.executable).atexit = False  # the context may be gone

    def launch(self):
        """All launches; they begin when the last ones have ended."""
        self.driver.cuGraphLaunch(self.executable, self.origin)
