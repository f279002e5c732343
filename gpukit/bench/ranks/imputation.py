"""What a rank of `gpukit bench ranks` does for the paper's imputation: rank 0 measures, the others help."""

import time

import numpy as np

from gpukit import device as devices
from gpukit.bench import imputation as alone
from gpukit.bench.conditions import Conditions
from gpukit.device.workspace import Workspace
from gpukit.errors import DataError
from gpukit.imputation.shared.crew import Crew
from gpukit.imputation.shared.session import END, SharedSession, serve
from gpukit.imputation.spectral.path import fit_path

SETTLED = 6  # steps that do not count: subspaces are cold, parts move
CLOSE = 1e-4  # relative: both in float32


def imputation(team, folder, like, scale, device):
    """A step of the paper's 20, by one rank, then by all."""
    device = devices.resolve(device)
    with Workspace() as workspace:
        if team.rank:
            return serve(Crew(team, device, workspace))
        return compared(alone.case(like, Conditions(device, (), float(scale))), team)


def compared(case, team):
    """What is told of a bench.imputation.Case; DataError where the answers are further apart than CLOSE."""
    for _ in range(2):  # the first one compiles
        session = alone.prepared(case)
        one, _ = steps(session, case.options)
    right = session.missing()
    del session
    alone.release(case.device)
    crew = Crew(team, case.device, case.workspace)
    for _ in range(2):
        session = SharedSession(crew, case.basis, case.graph.tensor, case.graph.mask, np.dtype(np.float32))
        many, parts = steps(session, case.options)
    apart = alone.relative(session.missing(), right)
    crew.ask(END)
    if not apart <= CLOSE:
        raise DataError(f"the answer of {team.size} ranks is {apart:.2g} away from one's, more than {CLOSE:g}.")
    spelled = ", ".join(f"{name} {value:.3g}" for name, value in parts.items())
    note = f"one rank {np.median(one):.4g} ms; rank 0's parts, ms: {spelled}; {type(crew.lines).__name__}; "
    return [{"what": "a step of the imputation", "samples": many, "note": f"{note}answers {apart:.1g} apart"}]


def steps(session, options):
    """([milliseconds of each step that counts], {part: milliseconds of a step in the mean, on this rank})."""
    first, times, seconds = session.largest(), [time.perf_counter()], [dict(session.seconds)]

    def note(*_):
        times.append(time.perf_counter())
        seconds.append(dict(session.seconds))

    fit_path(session, first, options, progress=note)
    taken = 1e3 * np.diff(times[SETTLED:])
    parts = {name: 1e3 * (seconds[-1][name] - seconds[SETTLED][name]) / len(taken) for name in seconds[-1]}
    return taken.tolist(), parts
