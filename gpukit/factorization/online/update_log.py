"""Entries of `updates_`: the record of updates in a model and its file."""

from gpukit import persist
from gpukit.errors import DataError
from gpukit.factorization.online.plan import ROWS

RETRAINED = "anew"  # value of "rows" after retraining (retrain.py)
COUNTS = ("ratings", "corrected", "users", "items", "walked", "settled")


def new_entry(changes, new_rows, rows, walked, settled, seconds):
    """Return the entry of an update.

    changes: numbers of new and of corrected ratings; new_rows: of new users, of new items; the others: see partial_fit.
    """
    names = "ratings", "corrected", "users", "items"
    counts = dict(zip(names, map(int, (*changes, *new_rows))))
    return {**counts, "rows": rows, "walked": walked, "settled": settled, "seconds": seconds}


def empty_entry(model, rows):
    """Return the entry of updates_ for an update without new ratings."""
    settled = last_full_count(getattr(model, "updates_", []), len(model._rated.items))
    return new_entry((0, 0), (0, 0), rows, 0, settled, {})


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
