"""A fit over ranks, seen from each: rank 0 fits and asks, the others help, and have the model in the end."""

import json
import warnings

import numpy as np

from gpukit import device as devices
from gpukit import persist
from gpukit.device.workspace import Workspace
from gpukit.imputation.shared import parts
from gpukit.imputation.shared.crew import Crew
from gpukit.imputation.shared.session import END, HERE, serve

ALONE = (
    "nothing was shared out: ranks share the work of method='spectral', on tensors of {:,} numbers or more that have "
    "{} columns and spectral slices for each rank; {!r} filled in, by rank 0 itself."
)


def heard(crew, progress):
    """A fit's progress on rank 0, where each news is also asked whether the others are there; as it is without a
    Crew."""
    if crew is None:
        return progress

    def tell(*news):
        crew.ask(HERE)  # raises where another rank has ended
        if progress:
            progress(*news)

    return tell


def finish(crew, model):
    """On rank 0, with a Crew, end the work, and give the fitted model to those who want it."""
    if crew is None:
        return
    crew.ask(END)
    if not crew.shared and not model._held.mask.all():
        warnings.warn(ALONE.format(parts.FEWEST, parts.LEAST, model.method_), stacklevel=3)
    if wanted(crew.team, False):
        give(crew.team, model)


def give(team, model):
    """Give all others what a file keeps of a fitted model."""
    facts, arrays = model._packed()
    forms = {name: [array.dtype.str, array.shape] for name, array in arrays.items()}
    told = json.dumps([facts, forms], default=persist.native).encode()
    team.broadcast(np.frombuffer(told, np.uint8))
    for array in arrays.values():
        team.broadcast(np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def take(team, model):
    """Become the model that rank 0 gives."""
    facts, forms = json.loads(bytes(team.broadcast()))
    arrays = {name: team.broadcast().view(kind).reshape(shape) for name, (kind, shape) in forms.items()}
    model._unpack(facts, persist.Arrays("What rank 0 has sent", arrays))


def wanted(team, own):
    """Whether any rank wants the model."""
    return bool(team.allreduce(np.array([own]), "max")[0])


def help_fit(model, team, keep=True):
    """On all ranks but 0, help to fit a GraphImputer; keep: this rank is to have it too, at the end."""
    model.check()
    device = devices.resolve(model.device)
    with Workspace() as workspace, devices.reported(device, "The imputation"):
        serve(Crew(team, device, workspace))
    if wanted(team, keep):
        take(team, model)
    return model
