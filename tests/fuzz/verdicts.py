"""Run and evaluate a case.

The child and its parent handle the memory limit and crashes.
"""

import contextlib
import os
import re
import shutil
import tempfile
import threading
import traceback
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fuzz import cases
from gpukit.errors import GpukitError

OWN, RESULT, OTHER, INCONSISTENT, MEMORY, CRASH, HANG = VERDICTS = (
    "own error",
    "result",
    "other exception",
    "inconsistent",
    "MemoryError",
    "crash",
    "hang",
)
GOOD = (OWN, RESULT)
LONGEST = 1200  # characters of a message: a line, not a page


class Verdict(NamedTuple):
    """The verdict, one of VERDICTS, with its detail.

    detail: the exception and its place, or the fault of the answer.
    """

    verdict: str
    detail: str = ""


def judged(case):
    """Return the Verdict on a Case, run in this process."""
    return verdict_on(case.kind, cases.made(case), case.mode)


def verdict_on(name, made, mode):
    """Return the Verdict on an Input of a kind."""
    kind = cases.kind_of(name)
    with laid_out(made.sample) as path:
        found, answer = _run(kind, path, made.use)
        if found.verdict == RESULT:
            found = _looked_at(kind, made, mode, answer)
        if found.verdict in GOOD and "pipe" in made.use:
            found = _through_a_pipe(kind, path, made.use, found, answer)
    return found


@contextlib.contextmanager
def laid_out(sample, what="case"):
    """Yield the path of a Sample's files, which exist within the context.

    The folder is reused, because a new one costs more than a case.
    """
    folder = Path(tempfile.gettempdir()) / f"fuzz-{what}-{os.getpid()}"
    for name, data in sample.files.items():
        target = folder / name
        target.parent.mkdir(exist_ok=True, parents=True)
        target.write_bytes(data)
    try:
        yield folder / sample.path
    finally:
        for entry in folder.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _run(kind, path, use):
    """Return (Verdict, answer or None): gpukit error, result, other exception or MemoryError."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return Verdict(RESULT), kind.answer(path, use)
    except GpukitError as error:
        return _one_line(error), None
    except MemoryError as error:
        return Verdict(MEMORY, describe_error(error)), None
    except Exception as error:  # any other exception is a finding
        return Verdict(OTHER, describe_error(error)), None


def _one_line(error):
    """A gpukit error must be one readable line."""
    text = str(error)
    if "\n" in text or "\r" in text or len(text) > LONGEST or not text.isprintable():
        shown = text if len(text) < 300 else f"{text[:200]} ... ({len(text):,} letters)"
        return Verdict(INCONSISTENT, f"the message is not one readable line: {shown!r} {where(error)}")
    return Verdict(OWN, f"{type(error).__name__}: {text}")


def _looked_at(kind, made, mode, answer):
    """Return the Verdict on an answer."""
    try:
        wrong = kind.judge(answer, made.sample.files)
    except Exception as error:  # an answer that crashes its judge
        wrong = f"the judge stumbles: {type(error).__name__}: {error}"
    if wrong:
        return Verdict(INCONSISTENT, wrong)
    if mode != "mutate" and kind.same:
        apart = difference(answer, _whole(kind.name, made))
        if apart:
            return Verdict(INCONSISTENT, f"a {mode} went unnoticed: {apart}")
    return Verdict(RESULT)


_WHOLE = {}


def _whole(name, made):
    """Compare with the answer to the original sample."""
    key = name, id(made.whole), str(made.use)
    if key not in _WHOLE:
        with laid_out(made.whole, "whole") as path:
            _WHOLE[key] = cases.kind_of(name).answer(path, made.use)
    return _WHOLE[key]


def _through_a_pipe(kind, path, use, from_file, answer):
    """Compare with the same file through a pipe.

    The answer is the same, or both are errors.
    """
    with piped(path, use["pipe"]) as pipe:
        found, other = _run(kind, pipe, use)
    if found.verdict not in GOOD:
        return found._replace(detail=f"through a pipe: {found.detail}")
    if found.verdict != from_file.verdict:
        return Verdict(INCONSISTENT, f"from a file: {from_file.verdict}; from a pipe: {found.verdict} {found.detail}")
    apart = difference(answer, other) if answer is not None else None
    return Verdict(INCONSISTENT, f"from a pipe: {apart}") if apart else found


@contextlib.contextmanager
def piped(path, how):
    """Yield a path to read the bytes of a file from a pipe.

    /dev/fd/N of a pipe, as in <(command), or a named pipe.
    """
    data = path.read_bytes()
    if how == "fifo":
        path = path.with_name("pipe-" + path.name)
        os.mkfifo(path)
        writer = threading.Thread(target=_feed, args=(path, data), daemon=True)
        writer.start()
        try:
            yield path
        finally:
            with contextlib.suppress(OSError):  # release a writer whose pipe was never opened
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            writer.join(2)
        return
    reading, writing = os.pipe()
    writer = threading.Thread(target=_feed, args=(writing, data), daemon=True)
    writer.start()
    try:
        yield Path(f"/dev/fd/{reading}")
    finally:
        os.close(reading)
        writer.join(2)


def _feed(target, data):
    with contextlib.suppress(OSError), open(target, "wb") as file:
        file.write(data)


def difference(one, other):
    """Return None for equal answers, else the first difference."""
    if set(one) != set(other):
        return f"{sorted(set(one) ^ set(other))} in one of the two"
    for name, value in one.items():
        if not _equal(value, other[name]):
            return f"{name} is {str(value)[:100]!r}, was {str(other[name])[:100]!r}"
    return None


def _equal(one, other):
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        return np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
    if type(one) is not type(other):
        return False
    return repr(one) == repr(other)


def describe_error(error):
    """Return an exception in a line.

    Its type, message, and the innermost place in gpukit.
    """
    text = str(error).splitlines()
    return f"{type(error).__name__}: {(text[0] if text else '')[:300]} {where(error)}"


def where(error):
    """Return the last (file, line, function) of gpukit in the traceback."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/gpukit/" in frame.filename]
    if not frames:
        return ""
    last = frames[-1]
    return f"[{last.filename.rpartition('/gpukit/')[2]}:{last.lineno} {last.name}]"


def signature(kind, found):
    """Return the common part of findings of one cause.

    Kind, verdict, type and place, without numbers.
    """
    place = re.search(r"\[(\S+?):\d+ (\S+)\]", found.detail)
    head = found.detail.split(":")[0] if place else re.sub(r"[\d.]+|'[^']*'", "", found.detail)[:60]
    return "-".join(word for word in (kind, found.verdict, head, *(place.groups() if place else ())) if word)
