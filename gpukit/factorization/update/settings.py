"""Validated options of an update."""

from typing import Literal, NamedTuple, get_args

from gpukit.base import check_choice, check_real

Rows = Literal["move", "frozen"]
Hashes = Literal["recount", "kept"]
ROWS, HASHES = get_args(Rows), get_args(Hashes)
MOST_REPLAY = 1e9


class Settings(NamedTuple):
    """Options of partial_fit.

    rows: 'move' trains all rows, 'frozen' leaves rows with earlier ratings unchanged. hashes: 'recount' uses the whole
    history, 'kept' leaves the neighbours of earlier items unchanged. duplicates: rule for repeated pairs. replay:
    earlier ratings trained per new one; None: chosen (plan.py). widen_scale: accept ratings outside the model's scale.
    """

    rows: str = "move"
    hashes: str = "recount"
    duplicates: str = "last"
    replay: float | None = None
    widen_scale: bool = False


def check(rows, hashes, duplicates, replay, widen_scale=False):
    """Return the Settings; raise ParameterError for values out of bounds."""
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
