"""The ranking of lists, learned on first use and stored in the model's file."""

import os

from gpukit.cli import report
from gpukit.device import capability_of
from gpukit.errors import GpukitError
from gpukit.parallel import ALONE


def stamp(path):
    """Return an identification of a file that changes if it is replaced, or None."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def learn_lists(fitted, ask, found, stages, team=ALONE):
    """Learn the ranking of a fitted model's lists, unless present, and store it.

    It is stored in ask.model if that is writable and still has the stamp `found` of the loaded file. All ranks of a
    Team
    learn the same ranking, and the first one stores it.
    """
    stages.done("reading")
    if fitted.has_lists:
        return
    report.compile_ahead(ask, team, "lists", capability=capability_of(fitted.device))
    fitted.fit_lists()
    stages.done("learning lists")
    if team.rank:
        return
    report.remark(f"Learned what ranks lists{written(fitted, ask.model, found)}.", ask.quiet or ask.as_json)
    stages.done("writing")


def written(fitted, path, found):
    """Write the model; return the end of the remark, with any error."""
    if stamp(path) != found:
        return f"; {path} is another by now, and stays as it is"
    if not os.access(path, os.W_OK):
        return f"; {path} may not be written, so it is learned anew each time"
    try:
        fitted.save(path)
    except (GpukitError, OSError) as error:
        return f", but could not keep it: {error}"
    return f" and kept it in {path}"
