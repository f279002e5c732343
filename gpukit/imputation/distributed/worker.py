"""A distributed fit: rank 0 fits and sends requests, the others answer and receive the model."""

import json
import warnings

import numpy as np

from gpukit import device as devices
from gpukit import persist
from gpukit.device.workspace import Workspace
from gpukit.imputation.distributed import share
from gpukit.imputation.distributed.completion import END, HERE, serve
from gpukit.parallel.devices import check_distinct_gpus, make_transport

ALONE = (
    "nothing was shared out: ranks share the work of method='spectral', on tensors of {:,} numbers or more that have "
    "{} columns and spectral slices for each rank; {!r} filled in, by rank 0 itself."
)


class Worker:
    """This process's rank in a parallel.Team; constructed on all ranks together.

    device: device.Device of this rank, a CPU or a GPU of its own; workspace: of the run (device.workspace.Workspace).
    lines: array transport (parallel.array_transport). shared: True on rank 0 if a tensor was distributed.
    """

    def __init__(self, team, device, workspace):
        self.team, self.device, self.workspace = team, device, workspace
        check_distinct_gpus(team, device)
        self.lines = make_transport(team, device, lambda text: warnings.warn(text, UserWarning, stacklevel=2))
        self.shared = False

    def ask(self, what, *numbers):
        """Broadcast a request of rank 0: a number of completion.py, then arrays or numbers, flat."""
        self.team.broadcast(np.concatenate([[float(what)], *(np.ravel(each) for each in numbers)]))

    def collected(self, array):
        """Return [array of each rank] on rank 0, None on others."""
        if self.team.rank:
            self.team.send(0, array)
            return None
        return [array, *(self.team.receive(rank) for rank in self.team.others)]


def wrap_progress(worker, progress):
    """Wrap rank 0's progress callback with a check of other ranks.

    Without a Worker the callback is returned unchanged.
    """
    if worker is None:
        return progress

    def report(*values):
        worker.ask(HERE)  # raises if another rank has ended
        if progress:
            progress(*values)

    return report


def finish(worker, model):
    """End the requests on rank 0 and send the fitted model.

    Ranks that request it get it.
    """
    if worker is None:
        return
    worker.ask(END)
    if not worker.shared and not model._held.mask.all():
        warnings.warn(ALONE.format(share.FEWEST, share.LEAST, model.method_), stacklevel=3)
    if is_model_requested(worker.team, False):
        give(worker.team, model)


def give(team, model):
    """Broadcast the file contents of a fitted model."""
    facts, arrays = model._packed()
    forms = {name: [array.dtype.str, array.shape] for name, array in arrays.items()}
    header = json.dumps([facts, forms], default=persist.native).encode()
    team.broadcast(np.frombuffer(header, np.uint8))
    for array in arrays.values():
        team.broadcast(np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def take(team, model):
    """Receive the model of rank 0."""
    facts, forms = json.loads(bytes(team.broadcast()))
    arrays = {name: team.broadcast().view(kind).reshape(shape) for name, (kind, shape) in forms.items()}
    model._unpack(facts, persist.Arrays("What rank 0 has sent", arrays))


def is_model_requested(team, is_requested):
    """Return True if any rank requests the model."""
    return bool(team.allreduce(np.array([is_requested]), "max")[0])


def help_fit(model, team, keep=True):
    """Take part in a fit of a GraphImputer.

    On all ranks but 0; keep: receive the model at the end.
    """
    model.check()
    device = devices.resolve(model.device)
    with Workspace() as workspace, devices.translate_memory_errors(device, "The imputation"):
        serve(Worker(team, device, workspace))
    if is_model_requested(team, keep):
        take(team, model)
    return model
