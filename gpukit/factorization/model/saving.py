"""Contents of model files and checkpoints; gpukit.persist writes them."""

import zlib
from typing import NamedTuple

import numpy as np

from gpukit import persist
from gpukit.base import check_choice, check_integer, check_real
from gpukit.base.arrays import cast
from gpukit.errors import DataError, ModelError, ParameterError
from gpukit.factorization.arrays import History, Scale
from gpukit.factorization.lists.head import Head
from gpukit.factorization.model import parts
from gpukit.factorization.model.layout import LEVELS, pair_keys
from gpukit.factorization.model.state import KEPT, State, from_upper_halves, upper_halves
from gpukit.factorization.online.inputs import check_entries
from gpukit.factorization.settings import (
    CLICKS,
    FEEDBACK,
    KEPT_SETTINGS,
    MOST_FACTORS,
    MOST_NEGATIVES,
    WEIGHTED,
    Choice,
    Settings,
)
from gpukit.factorization.solvers import LOSSES_OF
from gpukit.io import trust
from gpukit.neighbors.estimator import MOST_NEIGHBORS
from gpukit.ratings.parts import RatingsPart

STATE, HISTORY, BEST, HEAD, SECOND = "state", "rated", "best", "head", "beside"
BEFORE, MARKED, WEIGHTS, RATED = "before", ("seen", "low"), f"{STATE}.item_weights", f"{HISTORY}.items"
FACTS = {
    "history": list,
    "timings": dict,
    "device": str,
    "random_share": float,
    "chosen": dict,
    "trials": list,
    "feedback": str,
}
LATER = {"ease": 0.0, "ease_decay": 0.0}  # not in files of earlier versions
FORMER = {"blend", "share", "recency"}  # in files of earlier versions
CHOSEN = {  # of `settings.Choice.facts`
    **dict.fromkeys(("predictor", "biases", "why"), str),
    **dict.fromkeys(("n_factors", "n_neighbors", "n_epochs"), int),
    **dict.fromkeys(("learning_rate", "regularization"), int | float | None),
    **{"damping": list, "trend": list},
}


class SecondModel(NamedTuple):
    """A second model that is mixed in (see state.py): its State after epochs_done epochs."""

    state: State
    epochs_done: int


class Checkpoint(NamedTuple):
    """Progress of a training.

    state: the State after epochs_done epochs; history: epochs so far; best: the best State (None: not kept); choice:
    settings.Choice; second: a SecondModel once its training has begun, else None.
    """

    state: State
    epochs_done: int
    history: list
    best: State | None
    choice: object
    second: SecondModel | None = None


class Part(NamedTuple):
    """Checkpoint in a file: header and {name: array}."""

    header: dict
    arrays: dict


def fingerprint(ratings):
    """Return a checksum of the ratings.

    It prevents resuming a checkpoint on other data. Raises ParameterError for ratings in parts.
    """
    if isinstance(ratings, RatingsPart):
        raise ParameterError("Ratings in parts have no checkpoint. Read them on one rank, or leave checkpoint out.")
    total, columns = 0, ratings.columns()
    for array in (columns[name] for name in ("users", "items", "values", "weights", "counts") if name in columns):
        total = zlib.crc32(np.ascontiguousarray(array).data, total)
    return total


def part_of(estimator, state, best, done, data, choice, second=None, before=None):
    """Return the Part to resume a training after `done` epochs.

    It has the State, best State or None, parameters, the history so far, the Choice, and a SecondModel or None.
    before: the Part of an earlier training to keep in the file, or None.
    """
    header = {
        "class": "checkpoint",
        "of": type(estimator).__name__,
        "parameters": persist.lasting(estimator),
        "epochs_done": done,
        "history": estimator.history_,
        "data": data,
        "choice": choice.kept(),
    }
    arrays = persist.spread(STATE, state) | ({} if best is None else persist.spread(BEST, best))
    if second is not None:
        header["beside_done"], arrays = second.epochs_done, arrays | persist.spread(SECOND, second.state)
    if before is not None:
        header[BEFORE] = before.header
        arrays |= {f"{BEFORE}.{name}": array for name, array in before.arrays.items()}
    return Part(header, arrays)


def save_checkpoint(path, *facts):
    """Write the Part of a training to a file; facts: the arguments of part_of."""
    persist.save_arrays(path, *part_of(*facts))


def parts_of(path):
    """Return the Parts of a checkpoint file: the latest training, then the one before it, if any."""
    header, arrays = persist.load_arrays(path)
    main_arrays = {name: array for name, array in arrays.items() if not name.startswith(f"{BEFORE}.")}
    parts = [Part({name: fact for name, fact in header.items() if name != BEFORE}, main_arrays)]
    if BEFORE in header:
        with persist.report_damage(path):
            earlier = persist.entry_of(header, BEFORE, dict)
        arrays = {name.removeprefix(f"{BEFORE}."): arrays[name] for name in arrays.keys() - main_arrays.keys()}
        parts.append(Part(earlier, arrays))
    return parts


def load_checkpoint(path, estimator, data, shape, settings):
    """Return the Checkpoint of the same estimator and data; otherwise raise ModelError.

    data: fingerprint of ratings of shape (M, N); settings: settings.Settings.
    """
    parts = parts_of(path)
    header, arrays = next((part for part in parts if part.header.get("data") == data), parts[0])
    if header.get("class") != "checkpoint" or header.get("of") != type(estimator).__name__:
        raise ModelError(
            f"{path} is not a checkpoint of a {type(estimator).__name__}. Leave --resume out to begin anew."
        )
    with persist.report_damage(path):
        _check_parameters(path, persist.entry_of(header, "parameters", dict), persist.lasting(estimator))
        if persist.entry_of(header, "data", int) != data:
            raise ModelError(
                f"{path} was made from other ratings (or another split of them). Leave --resume out to begin anew."
            )
        choice = restore_choice(persist.entry_of(header, "choice", dict), settings, estimator.n_epochs)
        checkpoint = _checkpoint(header, persist.Arrays(path, arrays), shape, choice)
    if checkpoint.epochs_done > choice.settings.epochs:
        raise ModelError(
            f"{path} is after {checkpoint.epochs_done:,} epochs, and n_epochs={choice.settings.epochs} ends before. "
            "Resume with more epochs, or leave --resume out to begin anew."
        )
    return checkpoint


def _check_parameters(path, its, parameters):
    """Raise ModelError for a checkpoint with other parameters."""
    other = [name for name in parameters if name != "n_epochs" and its.get(name) != parameters[name]]
    if other:
        name = other[0]
        raise ModelError(
            f"{path} was made with {name}={its.get(name)!r}, not {parameters[name]!r}. "
            "Resume with the same settings, or leave --resume out."
        )


def _checkpoint(header, arrays, shape, choice):
    """Return the validated Checkpoint in a file's header and arrays.

    shape: (M, N) of the ratings; choice: the Choice of its settings.
    """
    sizes = choice.settings.n_factors, choice.settings.learned_neighbors
    done, history = persist.entry_of(header, "epochs_done", int), persist.entry_of(header, "history", list)
    check_epochs(history)
    if not 0 <= done == len(history):
        raise DataError(f"it stands after {done:,} epochs, and its history has {len(history):,}.")
    states = {STATE: arrays.gathered(State, STATE), BEST: None}
    if any(name.startswith(f"{BEST}.") for name in arrays):
        states[BEST] = arrays.gathered(State, BEST)
        judged = [entry["rmse"] for entry in history if entry["rmse"] is not None]
        if len(judged) < len(history) or not np.isfinite(judged).any():
            raise DataError("it keeps a best state, and not every epoch was judged.")
    for name, state in states.items():
        if state is not None:
            check_state(state, shape, sizes, name)
    second = _second_model(header, arrays, shape, choice, done)
    return Checkpoint(states[STATE], done, history, states[BEST], choice, second)


def _second_model(header, arrays, shape, choice, done):
    """Return the validated SecondModel in a file's header and arrays, or None.

    done: epochs of the first model.
    """
    if not any(name.startswith(f"{SECOND}.") for name in arrays) and "beside_done" not in header:
        return None
    epochs, state = persist.entry_of(header, "beside_done", int), arrays.gathered(State, SECOND)
    if not choice.settings.mixed or done < choice.settings.epochs or epochs < 0:
        raise DataError(f"it keeps a second model after {epochs:,} epochs, and its settings or its epochs have none.")
    check_state(state, shape, sizes_of(state), SECOND)
    return SecondModel(state, epochs)


def pack_model(model):
    """Return (facts, arrays) of a fitted model."""
    arrays = persist.spread(STATE, model._state) | persist.spread(HISTORY, model._rated)
    if model._state.item_weights.size:
        arrays[WEIGHTS] = upper_halves(model._state.item_weights)
    ids = {"user_ids": model.user_ids_, "item_ids": model.item_ids_}
    if len(model.item_ids_) <= 1 << 16:
        arrays[RATED] = cast(arrays[RATED], np.uint16)
    if hasattr(model, "_head"):
        arrays |= persist.spread(HEAD, model._head)
    arrays |= {name: getattr(model, f"_{name}") for name in MARKED if hasattr(model, f"_{name}")}
    later = {"updates": model.updates_} if getattr(model, "updates_", None) else {}
    return {"standard": list(model._scale), "kept": persist.facts_of(model, FACTS), **later}, arrays | ids


def unpack(model, facts, arrays):
    """Restore a model from the result of `pack_model`.

    Raises DataError if it is not valid.
    """
    if parts.PARTS in facts:
        return parts.load_parts(model, arrays.path, facts[parts.PARTS])
    standard = persist.entry_of(facts, "standard", list)
    if len(standard) != len(Scale._fields):
        raise DataError(f"'standard' in its header has {len(standard)} numbers, not {len(Scale._fields)}.")
    scale, state, rated = Scale(*standard), arrays.gathered(State, STATE), arrays.gathered(History, HISTORY)
    if WEIGHTS in arrays:
        trust.check_array(WEIGHTS, state.item_weights, np.uint16, (None,) * (1 if state.weight_starts.size else 2))
        state = state._replace(item_weights=from_upper_halves(state.item_weights))
    if rated.items.dtype == np.uint16:
        rated = rated._replace(items=cast(rated.items, np.int32))
    ids = {name: arrays[name] for name in ("user_ids", "item_ids")}
    for name, column in ids.items():
        trust.check_ids(name, column)
    shape = tuple(map(len, ids.values()))
    check_scale(scale)
    sizes = sizes_of(state)
    check_state(state, shape, sizes)
    check_history(rated, shape)
    training = {"feedback": "explicit", **persist.entry_of(facts, "kept", dict)}  # missing in files of earlier versions
    persist.restore_facts(model, training, FACTS, optional=("random_share",))
    if model.feedback_ not in FEEDBACK[1:]:
        raise DataError(f"'feedback' in its header is {model.feedback_!r:.80}.")
    check_epochs(model.history_)
    check_facts(model.chosen_, model.feedback_, sizes[0])
    if "updates" in facts:
        model.updates_ = check_entries(facts["updates"])
    model.set_fitted(state, rated, scale, *ids.values())
    if any(name.startswith(f"{HEAD}.") for name in arrays):
        result = arrays.gathered(Head, HEAD)
        check_head(result, shape)
        model._head = result
    for name in MARKED:
        if name in arrays:
            check_seen(arrays[name], shape, name)
            setattr(model, f"_{name}", arrays[name])


LARGEST = 1e15  # of a parameter: products of a thousand pairs of them are finite


def is_number(value):
    """Return True if a JSON value is a number within float range."""
    most = 1 << 53  # of epochs, seconds, errors
    return isinstance(value, int | float) and not isinstance(value, bool) and not abs(value) > most


def sizes_of(state):
    """Return (F, K) of a State; raise DataError for impossible sizes."""
    sizes = tuple(array.shape[-1] if array.ndim else 0 for array in (state.user_factors, state.neighbors))
    for what, size, least, most in zip(("factors", "neighbours"), sizes, (1, 0), (MOST_FACTORS, MOST_NEIGHBORS)):
        if not least <= size <= most:
            raise DataError(f"it has {size:,} {what}; {least} to {most:,} are possible.")
    return sizes


def check_numbers(name, array, dtype, shape, *bounds):
    """Raise DataError unless an array has a dtype, a shape and numbers within bounds.

    bounds: the largest size of floats; the least integer and the one after the largest.
    """
    trust.check_array(name, array, dtype, shape)
    (trust.check_finite if len(bounds) == 1 else trust.check_range)(name, array, *bounds)


def check_state(state, shape, sizes, what="state"):
    """Raise DataError unless a State has valid shapes, dtypes and values.

    shape: (M, N); sizes: (F, K).
    """
    (users, items), (f, k) = shape, sizes
    shapes = ((users, f), (users, KEPT), (items, f), (items, KEPT), (items, 2, k))
    for name, array, wanted in zip(state._fields, state, shapes):
        check_numbers(f"{what}.{name}", array, np.float32, wanted, LARGEST)
    if state.item_weights.size or state.weight_starts.size:
        check_weights(state, items, what)
    check_numbers(f"{what}.neighbors", state.neighbors, np.int32, (items, k), 0, items)


def check_weights(state, items, what):
    """Raise DataError unless the weights between items of a State have valid shapes, dtypes and values."""
    has_lists, weights = state.weight_starts.size > 0, state.item_weights
    wanted = (None,) if has_lists else (items, items)
    check_numbers(f"{what}.item_weights", weights, np.float32, wanted, LARGEST)
    if has_lists:
        trust.check_array(f"{what}.weight_starts", state.weight_starts, np.int64, (items + 1,))
        trust.check_pointers(f"{what}.weight_starts", state.weight_starts, items, len(weights))
        check_numbers(f"{what}.weight_items", state.weight_items, np.int32, (len(weights),), 0, items)


def check_head(head, shape):
    """Raise DataError unless a lists.head.Head from a file fits ratings of shape (M, N)."""
    factors = head.item_factors.shape[-1] if head.item_factors.ndim else 0
    for name, array, rows in zip(head._fields, head, shape):
        check_numbers(f"head.{name}", array, np.float32, (rows, factors), LARGEST)
    check_numbers("head.clicks", head.clicks, np.int64, (shape[1],), 0, 1 << 53)
    check_numbers("head.numbers", head.numbers, np.float64, (3,), LARGEST)
    trust.check_range("head.numbers", head.numbers, 0, LARGEST)


def check_history(history, shape):
    """Raise DataError unless a History on the host fits shape (M, N)."""
    (users, items), count = shape, len(history.items)
    trust.check_array("rated.indptr", history.indptr, np.int64, (users + 2,))
    trust.check_pointers("rated.indptr", history.indptr, users + 1, count)
    nobody = count - history.indptr[-2]
    if nobody:
        raise DataError(f"rated.indptr gives {nobody:,} ratings to the row of unknown users.")
    check_numbers("rated.items", history.items, np.int32, (count,), 0, items)
    check_numbers("rated.codes", history.codes, np.uint8, (count,), 1, LEVELS - 1)
    check_numbers("rated.levels", history.levels, np.float32, (LEVELS,), LARGEST)


def check_seen(seen, shape, what):
    """Raise DataError unless seen (n, 2) int32 has sorted pairs of rows.

    The rows are of users and items of a model of shape (M, N).
    """
    trust.check_array(what, seen, np.int32, (None, 2))
    for column, rows in zip(seen.T, shape):
        trust.check_range(what, column, 0, rows)
    keys = pair_keys(*seen.T)
    if (keys[1:] <= keys[:-1]).any():
        raise DataError(f"{what} is not sorted by user and item, or has a pair twice.")


def check_scale(scale):
    """Raise DataError for an invalid Scale.

    It has a mean, a deviation above 0 and bounds (for clicks -inf and inf); all finite numbers fit float32.
    """
    unbounded = scale[2:] == (float("-inf"), float("inf"))
    numbers = [float(number) for number in scale[: 2 if unbounded else 4] if isinstance(number, int | float)]
    if len(numbers) < (2 if unbounded else 4) or not np.isfinite(np.array(numbers).astype(np.float32)).all():
        raise DataError(f"mean, deviation, lowest and highest rating are {list(scale)}, not four finite numbers.")
    if scale.deviation <= 0 or scale.low > scale.high:
        raise DataError(f"the ratings' deviation is {scale.deviation}, their range {scale.low} to {scale.high}.")


def check_epochs(history):
    """Raise DataError unless a training's history is a list of epochs.

    Each has epoch (1, 2, ...), seconds and rmse (None: not judged).
    """
    for place, entry in enumerate(history, start=1):
        known = isinstance(entry, dict) and set(entry) == {"epoch", "seconds", "rmse"}
        if not known or not all(number is None or is_number(number) for number in entry.values()):
            raise DataError(f"{entry!r:.80} in the history of training is no epoch, seconds and rmse.")
        if entry["epoch"] != place or entry["seconds"] is None:
            raise DataError(f"{entry!r:.80} in the history of training lacks its seconds, or is not epoch {place}.")


def restore_choice(entries, settings, n_epochs):
    """Return the settings.Choice from the dict of `Choice.kept`.

    settings: settings.Settings of the same estimator; n_epochs: the estimator's own, or None. Raises DataError or
    ParameterError for invalid entries.
    """
    kinds = {**kinds_of(KEPT_SETTINGS), **(kinds_of(CLICKS) if settings.feedback == "implicit" else {})}
    facts = {name: persist.entry_of({**LATER, **entries}, name, kind) for name, kind in kinds.items()}
    others = (persist.entry_of(entries, name, kind) for name, kind in (("trials", list), ("why", str)))
    check_integer("epochs", facts["epochs"], 0)
    check_real("a number of its settings", facts["regularization"], 0.0)
    check_chosen(facts, 1)
    facts |= {name: tuple(facts[name]) for name in ("damping", "trend")}
    is_stopped = settings.patience and not facts["patience"]  # early stopping chose the epochs
    if n_epochs is not None and not is_stopped:
        facts["epochs"] = settings.epochs
    return Choice(settings._replace(**facts), *others)


def kinds_of(names):
    """Return {name: type in a file} of fields of settings.Settings."""
    kinds = {name: Settings.__annotations__[name] for name in names}
    return {name: list | tuple if kind is tuple else kind for name, kind in kinds.items()}


def check_facts(stored, feedback, n_factors):
    """Raise DataError unless a dict from a file is a valid `Choice.facts`.

    Updates depend on it. feedback: kind of feedback; n_factors: of the model.
    """
    most_epochs = 1 << 53
    kinds = {**CHOSEN, **({"feedback": str, **kinds_of(CLICKS)} if feedback == "implicit" else {})}
    if beyond := sorted(set(stored) - {*kinds, *FORMER, WEIGHTED}):
        raise DataError(f"{beyond[0]!r:.80} is nothing that is chosen for a training.")
    facts = {name: persist.entry_of({"trend": [], **LATER, **stored}, name, kind) for name, kind in kinds.items()}
    try:
        trained = check_integer("n_epochs", facts["n_epochs"], 0, most_epochs) > 0
        for name in ("regularization", "learning_rate"):
            if facts[name] is not None or (trained and name == "regularization"):
                check_real(name, facts[name], 0.0)
        check_choice("biases", facts["biases"], ("none", "held", "learned"))
        check_chosen(facts, 0)
        if feedback == "implicit":
            check_choice("feedback", facts["feedback"], ("implicit",))
            mixed = facts["mixed"] > 0
            check_integer("n_factors", facts["n_factors"], 1 if mixed else n_factors, n_factors - mixed)
    except ParameterError as error:
        raise DataError(f"what was chosen for it cannot be: {error}") from None


def check_chosen(facts, least_factors):
    """Raise ParameterError for invalid numbers in the entries of a file; those for clicks are checked if present."""
    check_integer("n_factors", facts["n_factors"], least_factors, MOST_FACTORS)
    check_integer("n_neighbors", facts["n_neighbors"], 0, MOST_NEIGHBORS)
    check_integer("numbers in damping", len(facts["damping"]), 2, 2)
    check_choice("numbers in trend", len(facts["trend"]), (0, 2))
    for number in (*facts["damping"], *facts["trend"]):
        check_real("a number of its settings", number, 0.0)
    if "solver" in facts:
        check_choice("solver", facts["solver"], tuple(LOSSES_OF))
        check_choice("loss", facts["loss"], LOSSES_OF[facts["solver"]])
        check_integer("n_negatives", facts["n_negatives"], 0, MOST_NEGATIVES)
        for name in ("unobserved_weight", "exponent", "mixed", "ease", "ease_decay"):
            check_real(name, facts[name], 0.0)
        check_real("popular", facts["popular"], 0.0, 1.0)
