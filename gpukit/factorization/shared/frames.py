"""Training on a Dask DataFrame: each rank learns from the partitions that its worker holds."""

import json
import os
import sys
import tempfile
import warnings

import numpy as np

from gpukit import factorization, persist
from gpukit.errors import DataError, ParameterError
from gpukit.factorization.shared.training import check_parameters
from gpukit.io.arrays import is_partitioned
from gpukit.parallel import TeamError, dask_cluster
from gpukit.ratings import formats
from gpukit.ratings.read_parts import part_of_frames
from gpukit.ratings.repeats import merged_line

FUNCTION = f"{__name__}:fit_partitions"


def fit_frame(estimator, frame, client, others):
    """Train an estimator on a Dask DataFrame on the workers of a client; return the models of each worker's users.

    others: {name: value} of fit's arguments that must be None or False.
    """
    dask_cluster.check_dask("client=")
    if not is_partitioned(frame):
        raise ParameterError(f"client= is for a Dask DataFrame; X is a {type(frame).__name__}. Leave client out.")
    if name := next((name for name, value in others.items() if value not in (None, False)), None):
        raise ParameterError(f"{name}= does not work with client=. Leave it out, or pass frame.compute().")
    check_parameters(estimator, estimator.check(), on_gpus=False)
    futures = client.compute(frame[names_of_columns(frame)].to_delayed())
    partitions = dask_cluster.find_holders(client, futures)
    parameters = json.dumps({**persist.lasting(estimator), "device": str(estimator.device)})
    arguments = FUNCTION, type(estimator).__name__, parameters
    code, out, err = dask_cluster.run(client, *arguments, partitions=partitions)
    if code:
        raise (DataError if code == DataError.exit_code else TeamError)(err.rpartition("Error: ")[2].strip())
    for line in err.splitlines():
        warnings.warn(line, stacklevel=3)
    models = []
    with tempfile.TemporaryDirectory() as folder:
        for worker, source in zip(partitions, out.splitlines(), strict=True):
            path = os.path.join(folder, f"{len(models)}")
            with open(path, "wb") as file:
                dask_cluster.fetch_file(client, worker, source, file)
            models.append(type(estimator).load(path))
    return models


def names_of_columns(frame):
    """Return the names of the columns with user, item, rating and time; DataError if one of the first is missing."""
    places = formats.find_columns(frame.columns)
    if lacking := [formats.WORDS[role] for role in formats.TRIPLE if role not in places]:
        names = ", ".join(map(str, frame.columns))
        raise DataError(
            f"The Dask DataFrame has the columns {names}, but no {' and no '.join(lacking)}. "
            "Rename the columns: user, item, rating, and timestamp for times."
        )
    return [frame.columns[places[role]] for role in (*formats.TRIPLE, "times") if role in places]


def fit_partitions(team, name, parameters):
    """Fit an estimator of a class to the partitions of all ranks; each saves its part, rank 0 prints their names."""
    warnings.showwarning = lambda message, *_, **__: print(message, file=sys.stderr)
    part = part_of_frames(dask_cluster.read_objects(), team)
    if part.merged:
        warnings.warn(f"{merged_line(part, 'last')}.", stacklevel=2)
    model = getattr(factorization, name)(**json.loads(parameters)).fit(part, team=team)
    file, path = tempfile.mkstemp(suffix=".gpukit")
    os.close(file)
    persist.save_model(path, model, *model._packed())
    paths = team.allgather(np.frombuffer(path.encode(), np.uint8))
    if team.rank == 0:
        print(*(bytes(name).decode() for name in paths), sep="\n")
