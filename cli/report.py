"""Output of commands: tables and JSON, remarks, the progress bar, and seconds by part."""

import contextlib
import json
import math
import os
import shutil
import sys
import time
import warnings
from pathlib import Path

import click

from gpukit.cli.standard import printable
from gpukit.timing import COMPILING, compile_seconds


class Figure(str):
    """A formatted number, right-aligned in a table."""


def echo(text="", err=False):
    """Print a line on stdout or stderr with unprintable characters escaped.

    Exact bytes are written by io/sinks.py.
    """
    click.echo(printable(text), err=err)


def print_table(rows, columns, title=(), err=False):
    """Print rows (dicts) under the headings of columns {key: heading}.

    Numbers are right-aligned, a missing or undefined value is '-'. title: a line or a list of lines; err: on stderr.
    """
    columns = {key: printable(heading) for key, heading in columns.items()}
    cells = [[_cell(row.get(key)) for key in columns] for row in rows]
    widths = [max(len(text) for text in column) for column in zip(columns.values(), *cells, strict=True)]
    right = [all(isinstance(row.get(key), (int, float, Figure, type(None))) for row in rows) for key in columns]
    for line in [title] if isinstance(title, str) else title:
        echo(line, err)
    for line in [list(columns.values()), *cells]:
        padded = (text.rjust(w) if r else text.ljust(w) for text, w, r in zip(line, widths, right, strict=True))
        echo("  " + "  ".join(padded).rstrip(), err)


def _cell(value):
    if value is None or value != value:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else printable(str(value))


def print_json(result):
    """Print one JSON object in ASCII.

    numpy values are converted; NaN and infinity become null.
    """
    read = read_notes()
    result = {**result, "reading": [{"file": name, **facts} for name, facts in read.items()]} if read else result
    click.echo(json.dumps(to_json_value(result), indent=2).replace("\x7f", "\\u007f"))


def print_result(facts, stages):
    """Print the JSON object of the running verb: its name, the facts, and the seconds of the Stages."""
    print_json({"command": click.get_current_context().info_name, **facts, "seconds": stages.seconds})


def pick(source, names, end=""):
    """Return {name: attribute} of names that are separated by spaces; end: of the attributes, such as '_'."""
    return {name: getattr(source, name + end) for name in names.split()}


def to_json_value(value):
    """Convert numpy scalars, arrays, tuples, NaN and infinity to JSON values."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): to_json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def remark(text, quiet=False):
    """Print a line on stderr unless quiet; write errors are ignored."""
    if not quiet:
        with contextlib.suppress(OSError):
            echo(text, err=True)


def remark_all(texts, quiet=False):
    """Print each text that is not empty as a remark."""
    for text in filter(None, texts):
        remark(text, quiet)


def hear_reader(file, text, facts):
    """Print a reader's note unless quiet, and store its facts for print_json."""
    context = click.get_current_context(silent=True)
    if context is None:
        return
    facts_of, known = read_notes().setdefault(file, {}), context.find_root().meta.setdefault("gpukit.said", set())
    facts_of.update(facts)
    if text and (file, text) not in known:  # some files are read twice
        known.add((file, text))
        remark(f"{file}: {text}.", context.params.get("quiet") or context.params.get("as_json"))


def read_notes():
    """Return {file: facts} of the notes of readers during this command."""
    context = click.get_current_context(silent=True)
    return {} if context is None else context.find_root().meta.setdefault("gpukit.reading", {})


@contextlib.contextmanager
def collect_warnings(quiet=False, translate=str):
    """Collect the texts of UserWarnings, each once; print them unless quiet.

    translate: a function that rewrites a text for the command line.
    """
    messages = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield messages
    texts = (str(warning.message) for warning in caught if issubclass(warning.category, UserWarning))
    messages += dict.fromkeys(map(translate, texts))
    for text in messages:
        remark(f"Warning: {text}", quiet)


class Progress(contextlib.AbstractContextManager):
    """Progress callback of fit: draws `stage [####....] 3/20 rmse 0.8512` on stderr.

    Silent if stderr is not a terminal or if quiet. As a context manager it clears its line at the end, so that an error
    or the closing table starts on a new line.
    """

    def __init__(self, quiet=False, stream=None):
        self.stream = stream or sys.stderr
        self.on = not quiet and self.stream.isatty()
        self.drawn, self.stage = 0.0, None

    def __call__(self, stage, done, total, info=None):
        """Draw `done` of `total` (None: unknown) of a stage; info: {name: number}."""
        now, pause = time.monotonic(), 0.1  # seconds between two drawings
        if self.on and (now - self.drawn > pause or done == total or stage != self.stage):
            self.drawn, self.stage = now, stage
            width = shutil.get_terminal_size().columns - 1
            self._write(bar_line(stage, done, total, info or {})[:width])

    def __exit__(self, *_):
        if self.on and self.stage is not None:
            self._write("")

    def _write(self, text):
        with contextlib.suppress(OSError):
            self.stream.write("\r\x1b[K" + text)  # return to the line's start and clear it
            self.stream.flush()


def bar_line(stage, done, total, info):
    """Return the text of the progress line."""
    stage, width = printable(stage), 24
    facts = "  ".join(f"{name} {_cell(value)}" for name, value in info.items() if value is not None)
    if not total:
        return f"{stage}  {done}  {facts}".rstrip()
    filled = width * min(done, total) // total
    return f"{stage} [{'#' * filled}{'.' * (width - filled)}] {done}/{total}  {facts}".rstrip()


class Compiling(Progress):
    """Progress of compilation on stderr: a line that is redrawn on a terminal, elsewhere a line every 15 s."""

    def __init__(self, quiet=False, stream=None):
        super().__init__(quiet, stream)
        self.quiet, self.drawn = quiet, time.monotonic()

    def show(self, done, total, name=""):
        """Show `compiling 37 of about 48 (once per machine): name`; the numbers are left out if total is 0."""
        pause = 15  # seconds between two lines where there is no terminal
        count = f" {done} of about {total}" if total else ""
        text = f"compiling{count} (once per machine){name and ': '}{name}"
        if self.on:
            self.stage = text
            self._write(text[: shutil.get_terminal_size().columns - 1])
        elif (now := time.monotonic()) - self.drawn > pause:
            self.drawn = now
            remark(text, self.quiet)

    def clear(self):
        """Clear the line, if one is drawn."""
        self.__exit__()
        self.stage = None


def hear_compiler(name):
    """Show that a function is being compiled, unless quiet; None: that none is any longer."""
    context = click.get_current_context(silent=True)  # of the main thread
    if context is None:
        return
    meta, values = context.find_root().meta, context.params
    if name is None:
        if "gpukit.compiler" in meta:
            meta["gpukit.compiler"].clear()
        return
    from gpukit import _jit

    if "gpukit.compiler" not in meta:
        meta["gpukit.compiler"] = Compiling(bool(values.get("quiet") or values.get("as_json")))
    meta["gpukit.compiler"].show(*(_jit.helpers.progress() if _jit.helpers else (0, 0)), name)


def compile_ahead(ask, team, *jobs, capability=None, reads=()):
    """Start to compile what possible jobs share, on the first run; say so once.

    A rank leaves the cores to the others. capability: compute capability of the GPU; None on the CPU. reads: input
    files; nothing is started if one does not exist.
    """
    from gpukit.compilation import helpers
    from gpukit.io.sources import check_exists

    if not team.rank:  # it alone has the descriptors of the shell
        check_exists(*reads)

    meta = click.get_current_context().find_root().meta
    jobs = [job if capability is None else f"{job}-gpu" for job in jobs]
    is_known = any(helpers.is_of_other_processor(job, capability) for job in jobs)
    count = helpers.begin(*jobs, alone=team.size == 1, capability=capability)
    if count and not meta.get("gpukit.compiling"):
        meta["gpukit.compiling"] = True
        why = "; the cache has code for another processor" if is_known else ""
        remark(f"The first run compiles about {count} functions, once per machine{why}.", ask.silent)


class Stages:
    """Seconds by part, in order of first use.

    `done(name)` books the time since the last call. Compiling and loading of code are always booked as "compiling".
    """

    def __init__(self):
        self.seconds = {}
        self._mark, self._compiled = time.perf_counter() - process_age(), compile_seconds()

    def done(self, name, parts=None):
        """Book the time since the last call; parts: seconds by name, booked separately."""
        now, compiled = time.perf_counter(), compile_seconds()
        parts = {**(parts or {}), COMPILING: compiled - self._compiled}
        spent, self._mark, self._compiled = now - self._mark, now, compiled
        self._book(name, max(spent - sum(parts.values()), 0.0))
        for part, seconds in parts.items():
            self._book(part, seconds)

    def _book(self, name, seconds):
        self.seconds[name] = self.seconds.get(name, 0.0) + float(seconds)

    def line(self):
        """Format the parts and their sum in a line."""
        parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in self.seconds.items())
        return f"Seconds: {parts}; {sum(self.seconds.values()):.2f} in all."


def process_age():
    """Return the seconds since the process started.

    The resolution is 10 ms on Linux. It is 0 if the system does not report the time.
    """
    try:
        start = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return max(time.clock_gettime(time.CLOCK_BOOTTIME) - start, 0.0)
    except (OSError, ValueError, AttributeError, IndexError):
        return 0.0
