"""A step of the imputation on one rank, then over two: processes of their own, each with a GPU, or both on the CPU."""

import json
import tempfile
import time
from pathlib import Path

import numpy as np

from gpukit import device as devices
from gpukit.bench import imputation as alone
from gpukit.bench.conditions import Conditions
from gpukit.bench.record import Row
from gpukit.device.workspace import Workspace
from gpukit.errors import DataError, GpukitError
from gpukit.imputation.shared.crew import Crew
from gpukit.imputation.shared.session import END, SharedSession, serve
from gpukit.imputation.spectral.path import fit_path
from gpukit.parallel.devices import settings_of_ranks
from gpukit.parallel.joined import joined
from gpukit.parallel.launch import launch

RANKS = 2
SETTLED = 5  # steps that do not count: subspaces are cold, parts move
CLOSE = 1e-4  # relative: both in float32
COMMAND = "import sys; from gpukit.bench.ranks.imputation import rank; rank(*sys.argv[1:])"


def shared(conditions):
    """Rows of a step's time; none where there are fewer GPUs than ranks."""
    on_gpus = conditions.device.is_cuda
    if on_gpus and devices.gpu_count() < RANKS:
        return
    usual = ("512x512x2600",) if on_gpus else ("64x64x2100",)
    for like in conditions.among(usual, [name for name in alone.SHAPES if name not in usual]):
        yield from rows(measured(like, conditions.scale, on_gpus))


def measured(like, scale, on_gpus):
    """What `rank` has found on ranks of their own."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "told.json")
        kind = "cuda" if on_gpus else "cpu"
        code = launch([like, str(scale), kind, str(told)], RANKS, settings_of_ranks(RANKS, on_gpus), COMMAND)
        if code:
            raise GpukitError(f"the benchmark's ranks have ended with exit code {code}.")
        return json.loads(told.read_text())


def rows(found):
    """Rows of one shape."""
    one, many = found["one"], found["many"]
    apart = f"answers {found['apart']:.1g} apart"
    parts = ", ".join(f"{name} {value:.3g}" for name, value in found["parts"].items())
    what, place = "a step of the imputation", (found["name"], "generated")
    yield Row(what, *place, one, "ms", f"one rank; accelerated, steps {SETTLED + 1} to {alone.ITERATIONS}")
    yield Row(f"{what} over {RANKS} ranks", *place, many, "ms", f"{found['lines']}; rank 0's ms: {parts}; {apart}")
    ratio = [float(np.median(one) / sample) for sample in many]
    yield Row(
        f"{what}: one rank against {RANKS}", *place, ratio, "times", f"one rank's median over each sample; {apart}"
    )


def rank(like, scale, kind, told):
    """A rank: the first one measures, the others help."""
    with joined() as team, Workspace() as workspace:
        device = devices.resolve(kind)
        if team.rank:
            return serve(Crew(team, device, workspace))
        found = compared(alone.case(like, Conditions(device, (), float(scale))), team)
        Path(told).write_text(json.dumps(found))


def compared(case, team):
    """Milliseconds of steps alone and over ranks, and how far apart the answers are; DataError beyond CLOSE."""
    dtype, graph = np.dtype(np.float32), case.graph
    for _ in range(2):  # the first one compiles
        session = alone.prepared(case)
        one, _ = steps(session, case.options)
    right = session.missing()
    del session
    alone.release(case.device)
    crew = Crew(team, case.device, case.workspace)
    for _ in range(2):
        session = SharedSession(crew, case.basis, graph.tensor, graph.mask, dtype)
        many, parts = steps(session, case.options)
    apart = alone.relative(session.missing(), right)
    crew.ask(END)
    if not apart <= CLOSE:
        raise DataError(f"the answer of {team.size} ranks is {apart:.2g} away from one's, more than {CLOSE:g}.")
    lines = type(crew.lines).__name__
    return {"name": case.name, "one": one, "many": many, "parts": parts, "apart": apart, "lines": lines}


def steps(session, options):
    """([milliseconds of each step that counts], {part: milliseconds of a step in the mean, on this rank})."""
    times, seconds, first = [time.perf_counter()], [dict(session.seconds)], session.largest()
    times[0] = time.perf_counter()

    def note(*_):
        times.append(time.perf_counter())
        seconds.append(dict(session.seconds))

    fit_path(session, first, options, progress=note)
    taken = 1e3 * np.diff(times[SETTLED:])
    parts = {name: 1e3 * (seconds[-1][name] - seconds[SETTLED][name]) / len(taken) for name in seconds[-1]}
    return taken.tolist(), parts


BENCHES = {"impute-ranks": shared}
