"""How an update goes about it, checked."""

from typing import NamedTuple

from gpukit.base import check_choice, check_real

ROWS = ("move", "frozen")
HASHES = ("recount", "kept")
MOST_REPLAY = 1e9


class Settings(NamedTuple):
    """rows 'move' or 'frozen': what becomes of rows that had ratings before; hashes 'recount' (of the whole history) or
    'kept' (the neighbours of earlier items stay as they are); duplicates: what a repeated pair means, as the readers
    have it; replay: earlier ratings that are walked again for every new one, None: chosen (plan.py); widen_scale:
    accept ratings outside the model's scale."""

    rows: str = "move"
    hashes: str = "recount"
    duplicates: str = "last"
    replay: float | None = None
    widen_scale: bool = False


def check(rows, hashes, duplicates, replay, widen_scale=False):
    """The Settings; ParameterError for what is out of bounds."""
    from gpukit.ratings.repeats import RULES

    if replay is not None:
        replay = check_real("replay", replay, 0.0, MOST_REPLAY)
    return Settings(
        check_choice("rows", rows, ROWS),
        check_choice("hashes", hashes, HASHES),
        check_choice("duplicates", duplicates, RULES),
        replay,
        check_choice("widen_scale", widen_scale, (False, True)),
    )
