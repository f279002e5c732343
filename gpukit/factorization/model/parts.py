"""Models in parts: a rank's file has the model of its users, and an index has the names and checksums of the files.

No rank gets the users of others. The index is a model file without arrays. It is written last, so a model that it
replaces stays complete until then.
"""

import contextlib
import copy
import re
import secrets
from pathlib import Path

import numpy as np

from gpukit import arrayfile, persist
from gpukit.device.memory import empty
from gpukit.errors import DataError, ModelError, ParameterError
from gpukit.io import trust

PARTS = "parts"  # the fact of an index: [[name, checksum of the header]] of the files
USERS = "user_factors", "user_extras"


def save_parts(model, path, team):
    """Write the part of each rank of a parallel.Team, then their index at path; call it on all ranks.

    Raises DataError for files that cannot be written or that rank 0 does not see, ParameterError for a pipe.
    """
    target = persist.check_writable(path)
    if target.exists() and not target.is_file():
        raise ParameterError(f"{path} is not a file, and a model in parts needs several. Name a file.")
    token = team.broadcast_json(secrets.token_hex(4))
    names = [f"{target.name}.{token}-{rank}" for rank in range(team.size)]
    own, former = target.with_name(names[team.rank]), names_at(target)
    try:
        persist.save_model(own, model, *model._packed())
        team.barrier()
        if team.rank == 0:
            persist.save_model(target, model, {PARTS: [[name, _checksum(target, name)] for name in names]}, {})
        team.barrier()
    except BaseException:
        if own.name not in names_at(target):  # it may be complete already, where a later rank has failed
            own.unlink(missing_ok=True)
        raise
    if team.rank == 0:
        remove_parts(target, former)


def _checksum(target, name):
    """Return the checksum of the header of a part that was just written."""
    try:
        return arrayfile.header_checksum(target.with_name(name))
    except OSError as error:
        raise DataError(
            f"Rank 0 does not see {target.with_name(name)} ({error.strerror}), which another rank has written. Save to "
            "a folder that all ranks share."
        ) from error


def names_at(path):
    """Return the names of the parts that the index at path lists for itself; none of any other file."""
    target = Path(path).resolve()
    with contextlib.suppress(DataError, ModelError):
        entries = check_entries(persist.load_header(target).get("facts", {}).get(PARTS))
        return [name for name, _ in entries if is_part_name(name, target.name)]
    return []


def remove_parts(path, names):
    """Remove the parts of a model that was replaced, by the names that its index listed."""
    for name in names:
        with contextlib.suppress(OSError):
            Path(path).resolve().with_name(name).unlink()


def is_part_name(name, of=None):
    """Return True for the name of a part, of the index with a name or of any."""
    match = re.fullmatch(r"([^/]+)\.[0-9a-f]{8}-\d+", name)
    return match is not None and of in (None, match[1])


def check_entries(entries):
    """Return the entries of PARTS, or raise DataError."""
    is_list = isinstance(entries, list) and all(isinstance(entry, list) and len(entry) == 2 for entry in entries)
    if not is_list or not all(isinstance(name, str) and is_part_name(name) for name, _ in entries) or not entries:
        raise DataError(f"{PARTS!r} in its header is {entries!r:.80}.")
    return entries


def load_parts(model, path, entries):
    """Restore a model from the parts in an index at path; entries: of PARTS."""
    models = []
    for name, checksum in check_entries(entries):
        file = Path(path).resolve().with_name(name)
        if not file.is_file():
            raise ModelError(
                f"{path} lacks {file.name}, one of its {len(entries)} parts. Copy them all to the folder of {path}."
            )
        if arrayfile.header_checksum(file) != checksum:
            raise ModelError(
                f"{file} is a part of another model than {path}. Copy the parts of one model, or train again."
            )
        models.append(type(model).load(file))
    join_models(model, models)


def collect_model(model, team):
    """Return on rank 0 the model of all users, from those of the ranks; others, and whole models, as they are."""
    if not hasattr(model, "_is_part"):
        return model
    state, rated = model._state, model._rated
    arrays = [model.user_ids_, *(getattr(state, name) for name in USERS), rated.indptr, rated.items, rated.codes]
    columns = [team.gather(array) for array in arrays]
    if team.rank:
        return model
    models, whole = [], copy.copy(model)
    for ids, *sides, indptr, items, codes in zip(*columns):
        own_state = state._replace(**dict(zip(USERS, sides)))
        own_rated = rated._replace(indptr=indptr, items=items, codes=codes)
        models.append(copy.copy(model))
        models[-1].set_fitted(own_state, own_rated, model._scale, ids, model.item_ids_)
    join_models(whole, models)
    del whole._is_part
    return whole


def join_models(model, models):
    """Restore a model from those of the users of each rank; users are in the order of their ids."""
    first, states = models[0], [part._state for part in models]
    if not all(np.array_equal(state.item_factors, states[0].item_factors) for state in states):
        raise ModelError("The parts are of different models. Train again.")
    user_ids = np.concatenate([part.user_ids_ for part in models])
    order = np.argsort(user_ids, kind="stable")
    trust.check_ids("user_ids", user_ids[order])
    rows = np.empty_like(order)
    rows[order] = np.arange(len(order))
    rows = np.split(rows, np.cumsum([len(part.user_ids_) for part in models])[:-1])
    sides = {name: _in_rows([getattr(state, name) for state in states], rows, len(order)) for name in USERS}
    history = join_histories([part._rated for part in models], rows, order)
    vars(model).update({name: value for name, value in vars(first).items() if name.endswith("_")})
    model.set_fitted(states[0]._replace(**sides), history, first._scale, user_ids[order], first.item_ids_)


def join_histories(histories, rows, order):
    """Return the History of all users; rows: those of each History's users; order: of the users by row."""
    from gpukit.ratings.orders.compressed import join_rows

    counts = np.concatenate([np.diff(history.indptr[:-1]) for history in histories])[order]
    indptr = np.concatenate([[0], np.cumsum(counts), [counts.sum()]]).astype(np.int64)
    items, codes = zip(*((history.items, history.codes) for history in histories))
    items, codes = (join_rows(columns, rows, indptr) for columns in (items, codes))
    return histories[0]._replace(indptr=indptr, items=items, codes=codes)


def _in_rows(parts, rows, count):
    """Return an array (count, ...) with parts[i] in rows[i]."""
    out = empty((count, *parts[0].shape[1:]), parts[0].dtype)
    for part, own in zip(parts, rows):
        out[own] = part
    return out
