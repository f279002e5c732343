"""What is told of updates, and kept in model files: `updates_`."""

from gpukit import persist
from gpukit.errors import DataError
from gpukit.factorization.update.settings import ROWS

ANEW = "anew"  # of rows: the model was trained on all that had come (retrain.py)
COUNTS = ("ratings", "corrected", "users", "items", "walked", "settled")


def nothing(model, rows):
    """An entry like those of updates_ for an update with nothing new of a fitted model; rows: as it was asked for."""
    settled = settled_of(getattr(model, "updates_", []), len(model._rated.items))
    return {**dict.fromkeys(COUNTS, 0), "rows": rows, "settled": settled, "seconds": {}}


def settled_of(told, ratings):
    """How many ratings there were when the whole history was last walked; ratings: so many there are now."""
    if told:
        return told[-1]["settled"]
    return ratings


def chosen_on(told, ratings):
    """How many ratings there were when the model's settings were chosen; ratings: so many there are now."""
    for entry in reversed(told):
        if entry["rows"] == ANEW:
            return entry["settled"]
        ratings -= entry["ratings"]
    return ratings


def checked(told):
    """The list of dicts in a model file; DataError for what is none."""
    if not isinstance(told, list):
        raise DataError(f"'updates' in its header is {told!r:.80}.")
    for entry in told:
        if not isinstance(entry, dict) or set(entry) != {*COUNTS, "rows", "seconds"}:
            raise DataError(f"{entry!r:.80} in its header is no update.")
        for name in COUNTS:
            if persist.entry_of(entry, name, int) < 0:
                raise DataError(f"{name!r} of an update in its header is {entry[name]}.")
        if entry["rows"] not in (*ROWS, ANEW):
            raise DataError(f"'rows' of an update in its header is {entry['rows']!r:.80}.")
        persist.check_seconds(persist.entry_of(entry, "seconds", dict))
    return told
