"""Options and replay of an update, and its entry of `updates_`.

Found by trial on MovieLens 1M, in 20 parts and by the paper's split; docs/updates.md lists the alternatives.
"""

import math
from typing import Literal, NamedTuple, get_args

from gpukit import persist
from gpukit.base import check_choice, check_real
from gpukit.errors import DataError
from gpukit.factorization.constants import RULES
from gpukit.factorization.settings import check
from gpukit.factorization.solvers import solver_defaults

Rows = Literal["move", "frozen"]
Hashes = Literal["recount", "kept"]
ROWS, HASHES = get_args(Rows), get_args(Hashes)
RETRAINED = "anew"  # value of "rows" after retraining (run.py)
COUNTS = ("ratings", "corrected", "users", "items", "walked", "settled")


class Options(NamedTuple):
    """Options of partial_fit.

    rows: 'move' trains all rows, 'frozen' leaves rows with earlier ratings unchanged. hashes: 'recount' uses the whole
    history, 'kept' leaves the neighbours of earlier items unchanged. duplicates: rule for repeated pairs. replay:
    earlier ratings trained per new one; None: chosen. widen_scale: accept ratings outside the model's scale.
    """

    rows: str = "move"
    hashes: str = "recount"
    duplicates: str = "last"
    replay: float | None = None
    widen_scale: bool = False

    @property
    def may_retrain(self):
        """Return True if rows and neighbours may change and replay is open."""
        return self == self._replace(rows="move", hashes="recount", replay=None)


class Replay(NamedTuple):
    """share: fraction of the earlier ratings to replay; epochs: epoch numbers that set the learning rates."""

    share: float
    epochs: tuple

    @property
    def is_whole(self):
        """Return True if the whole history is replayed."""
        return self.share == 1.0


def check_options(rows, hashes, duplicates, replay, widen_scale=False):
    """Return the Options; raise ParameterError for values out of bounds."""
    most_replay = 1e9
    from gpukit.ratings import repeats

    if replay is not None:
        replay = check_real("replay", replay, 0.0, most_replay)
    return Options(
        check_choice("rows", rows, ROWS),
        check_choice("hashes", hashes, HASHES),
        check_choice("duplicates", duplicates, repeats.RULES),
        replay,
        check_choice("widen_scale", widen_scale, (False, True)),
    )


def plan_replay(replay, before, now, full_count, plan):
    """Return the Replay of an update.

    replay: earlier ratings per new one; None: none, or all of them when due. before, now: number of ratings before and
    after the update; full_count: their number at the last epoch over the whole history; plan: a training's
    settings.Settings.
    """
    epoch_share, most_epochs = 0.4, 5  # epochs then: share of a training's epochs, and their maximum
    new = max(now - before, 1)
    due = replay is None and has_grown(full_count, now)
    replay = 0.0 if replay is None else replay
    if due or replay * new >= before:
        count = max(1, min(round(epoch_share * plan.epochs), most_epochs))
        return Replay(1.0, tuple(number * plan.epochs / count for number in range(count)))
    return Replay(replay * new / before, late_epochs(plan.epochs, plan.annealing))


def has_grown(full_count, now):
    """Return True if the growth from `full_count` ratings is at least a 25th of those now."""
    return (now - full_count) * RULES.growth_part >= now


def late_epochs(epochs, annealing):
    """Return the last epochs, moved to where the rate is still late_rate times the first.

    annealing: factor of the rate per epoch, 1 if the rate falls otherwise.
    """
    first, count = max(0, epochs - RULES.late_epochs), min(RULES.late_epochs, epochs)
    if annealing < 1:
        first = min(first, math.log(RULES.late_rate) / math.log(annealing))
    return tuple(first + number for number in range(count))


def new_entry(changes, new_rows, rows, walked, full_count, seconds):
    """Return the entry of an update.

    changes: numbers of new and of corrected ratings; new_rows: of new users, of new items; the others: see partial_fit.
    """
    names = "ratings", "corrected", "users", "items"
    counts = dict(zip(names, map(int, (*changes, *new_rows))))
    return {**counts, "rows": rows, "walked": walked, "settled": full_count, "seconds": seconds}


def empty_entry(model, rows):
    """Return the entry of updates_ for an update without new ratings."""
    full_count = last_full_count(getattr(model, "updates_", []), len(model._rated.items))
    return new_entry((0, 0), (0, 0), rows, 0, full_count, {})


def last_full_count(entries, ratings):
    """Return the number of ratings at the last epoch over the whole history; ratings: their number now."""
    if entries:
        return entries[-1]["settled"]
    return ratings


def count_when_chosen(entries, ratings):
    """Return the number of ratings when the settings were chosen; ratings: their number now."""
    for entry in reversed(entries):
        if entry["rows"] == RETRAINED:
            return entry["settled"]
        ratings -= entry["ratings"]
    return ratings


def check_entries(entries):
    """Return the validated entries of a model file; raise DataError for malformed ones."""
    if not isinstance(entries, list):
        raise DataError(f"'updates' in its header is {entries!r:.80}.")
    for entry in entries:
        if not isinstance(entry, dict) or set(entry) != {*COUNTS, "rows", "seconds"}:
            raise DataError(f"{entry!r:.80} in its header is no update.")
        for name in COUNTS:
            if persist.entry_of(entry, name, int) < 0:
                raise DataError(f"{name!r} of an update in its header is {entry[name]}.")
        if entry["rows"] not in (*ROWS, RETRAINED):
            raise DataError(f"'rows' of an update in its header is {entry['rows']!r:.80}.")
        persist.check_seconds(persist.entry_of(entry, "seconds", dict))
    return entries


def settings_of_model(model, n_ratings):
    """Return the Settings by which a fitted model learns further ratings.

    n_ratings: ratings in all. The settings are the chosen ones, or the defaults for n_ratings if the chosen ones were
    defaults. Models of other solvers continue by stochastic gradient descent.
    """
    plan, chosen = check(model, n_ratings, model.feedback_), model.chosen_
    if model.feedback_ == "implicit":
        others = ("damping", "trend", "biases")
        known = {name: chosen[name] for name in plan._fields if name in chosen and name not in others}
        return plan._replace(**known, epochs=chosen["n_epochs"], biases=chosen["biases"] == "learned")
    trained, learned = chosen["n_epochs"] > 0, plan.solver == "sgd"
    if trained and learned and not is_usual(model):
        plan = plan._replace(epochs=chosen["n_epochs"], regularization=chosen["regularization"])
    if not learned:
        plan = plan._replace(**solver_defaults("sgd", plan.rates, n_ratings), solver="sgd")
    is_held = chosen["biases"] == "held" or not trained
    baseline = {"damping": tuple(chosen["damping"]), "trend": tuple(chosen.get("trend", ()))}
    return plan._replace(epochs=plan.epochs * trained, held=is_held, **baseline)


def is_usual(model):
    """Return True if a fitted model's epochs and regularization are defaults."""
    then = check(model, count_when_chosen(getattr(model, "updates_", []), len(model._rated.items)), model.feedback_)
    return (then.epochs, then.regularization) == (model.chosen_["n_epochs"], model.chosen_["regularization"])
