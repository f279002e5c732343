"""A command as its user runs it, and all that it leaves: exit code, what it prints, the files it writes."""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import re
import shlex
import subprocess
import sys
import threading
import warnings
import zipfile
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

ON_CPU = {"train-lshmf", "tune", "update", "predict", "evaluate", "recommend", "similar", "ranksvm", "impute"}
VOLATILE = (  # what differs from run to run, or from machine to machine
    (re.compile(r"(The first run compiles|compiling \d+ of) .*\n"), ""),
    (re.compile(r"Seconds: .*"), "Seconds: #"),
    (re.compile(r"from the cache|computed on cpu"), "#"),
    (re.compile(r"\(\d+ threads?\)"), "(# threads)"),
    (re.compile(r"/dev/fd/\d+"), "/dev/fd/#"),
    (re.compile(r"\d[\d,]*(?:\.\d+)? ?(?:s|ms|us|MB|GB|MiB|GiB|KiB|kB)\b(?:/s)?"), "#"),
    (re.compile(r"\d[\d,.]* (?:[a-z]+ ){0,2}a second"), "# a second"),
    (re.compile(r'("seconds": )\{[^}]*\}'), r"\1#"),
    (re.compile(r'("(?:seconds|[a-z_]*_seconds|rate|version|date|host)": )[^,}\n]+'), r"\1#"),
)


@dataclass(frozen=True)
class Case:
    """Commands on small files, one after another, in a folder of their own. A command may be a function to call.

    files: name -> text or bytes; a name that ends in .gz, .bz2, .xz, .zst or .zip is compressed. stdin: what the last
    command reads. outputs: names of files whose contents are part of the answer. why: what the case is there for.
    pipes: name -> text or bytes of a named pipe; a command that has `<(name)` reads it as bash's process substitution.
    in_shell: bash runs the commands, with `gpukit` in a process of its own. shared: cases with the same first command
    on the same files run it once.
    """

    name: str
    commands: tuple | str
    files: dict = field(default_factory=dict)
    stdin: bytes | str | None = None
    outputs: tuple = ()
    why: str = ""
    pipes: dict = field(default_factory=dict)
    in_shell: bool = False
    shared: bool = False


def answer(case, folder, monkeypatch):
    """What a case leaves: a list of the commands' exit codes and lines, and the outputs as text."""
    monkeypatch.chdir(folder)
    for name, content in case.files.items():
        write(folder / name, content)
    commands = case.commands if isinstance(case.commands, tuple) else (case.commands,)
    with contextlib.ExitStack() as stack:
        for name, content in case.pipes.items():
            commands = stack.enter_context(substituted(commands, folder / name, as_bytes(content)))
        first = [run_once(commands[0], case, folder, monkeypatch)] if case.shared else []
        steps = first + [step(command, case, folder, monkeypatch) for command in commands[len(first) :]]
    return {"steps": steps, "outputs": {name: content_of(folder / name) for name in case.outputs}}


FIRST = {}  # (command, contents of the files that it names): (its step, {name: contents of a file that it wrote})


def run_once(command, case, folder, monkeypatch):
    """Run the first command of a case, or give what it left for an earlier case."""
    key = command, *(case.files[word] for word in shlex.split(command) if word in case.files)
    if key not in FIRST:
        before = {*os.listdir(folder)}
        done = step(command, case, folder, monkeypatch)
        FIRST[key] = done, {name: (folder / name).read_bytes() for name in {*os.listdir(folder)} - before}
    done, written = FIRST[key]
    for name, content in written.items():
        (folder / name).write_bytes(content)
    return done


def step(command, case, folder, monkeypatch):
    """Run one command of a case."""
    if callable(command):
        return call(command, case.stdin, folder)
    return run_in_shell(command, folder) if case.in_shell else run(command, case.stdin, monkeypatch, folder)


def call(function, stdin, folder):
    """Call a function of the public API: its answer or the line of its error, and its warnings."""
    with warnings.catch_warnings(record=True) as caught, piped(as_bytes(stdin or b"")):
        warnings.simplefilter("always")
        try:
            result = {"answer": function()}
        except Exception as error:  # whatever a user gets
            result = {"error": steady(f"{type(error).__name__}: {error}", folder)}
    return {**result, **({"warnings": [steady(str(w.message), folder) for w in caught]} if caught else {})}


def errors_of(*functions):
    """The line of each function's error, or its answer where it has none."""
    return [call(function, None, os.getcwd()) for function in functions]


def run_in_shell(command, folder):
    """Run a line of bash in which `gpukit` is a process of its own: exit code, stdout, stderr."""
    line = f'gpukit() {{ "{sys.executable}" -m gpukit "$@"; }}; {command}'
    ended = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, timeout=100, check=False)
    texts = {name: steady(getattr(ended, name).decode("utf-8", "replace"), folder) for name in ("stdout", "stderr")}
    return {"command": command, "code": ended.returncode, **texts}


def run(command, stdin, monkeypatch, folder):
    """`gpukit COMMAND` in this process, on the CPU where it has the choice: exit code, stdout, stderr."""
    from gpukit.cli.main import run as gpukit  # what the command `gpukit` runs

    arguments = shlex.split(command)
    if arguments and arguments[0] in ON_CPU and "--device" not in arguments and "--help" not in arguments:
        arguments += ["--device", "cpu"]
    streams = {name: io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    with piped(as_bytes(stdin or b"")):
        code = gpukit(arguments)
    texts = {}
    for name, stream in streams.items():
        stream.flush()
        texts[name] = steady(stream.buffer.getvalue().decode("utf-8", "replace"), folder)
    return {"command": steady(command, folder), "code": code, **texts}


@contextlib.contextmanager
def piped(content):
    """Connect standard input to a pipe with this content within the context."""
    kept = os.dup(0)
    with pipe_of(content) as receive:
        os.dup2(receive, 0)
    try:
        yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)


@contextlib.contextmanager
def pipe_of(content):
    """Yield the file descriptor of a pipe that a thread fills with content."""
    receive, send = os.pipe()
    threading.Thread(target=fill, args=(send, content), daemon=True).start()
    try:
        yield receive
    finally:
        os.close(receive)


@contextlib.contextmanager
def substituted(commands, path, content):
    """Yield the commands with `<(name)` replaced by an open pipe; without it, path is a named pipe for them."""
    sign = f"<({path.name})"
    if any(sign in command for command in commands if isinstance(command, str)):
        with pipe_of(content) as receive:
            yield tuple(command.replace(sign, f"/dev/fd/{receive}") for command in commands)
        return
    os.mkfifo(path)
    with fed(path, content):
        yield commands


@contextlib.contextmanager
def fed(path, content):
    """Let a thread write content to a named pipe once; a second reader gets nothing instead of waiting for ever."""
    ended = threading.Event()

    def feed(left=content):
        while not ended.is_set():
            fill(os.open(path, os.O_WRONLY), left)
            left = b""
            ended.wait(0.05)

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a writer that waits for a reader goes on and ends
        thread.join()
        os.close(reader)


def fill(send, content):
    """Write content to a pipe and close it. Its reader may stop early."""
    with contextlib.suppress(BrokenPipeError), open(send, "wb", buffering=0) as stream:
        view = memoryview(content)
        while view:
            view = view[stream.write(view) :]


def as_bytes(content):
    """Encode text as UTF-8; bytes stay as they are."""
    return content.encode() if isinstance(content, str) else content


def steady(text, folder):
    """A text without what differs from run to run."""
    text = text.replace(str(folder), "DIR")
    for pattern, stands in VOLATILE:
        text = pattern.sub(stands, text)
    return text


def write(path, content):
    """A small input file, compressed as its name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed(path, as_bytes(content)))


def packed(path, content):
    """The bytes of a file of that name."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(made := io.BytesIO(), "w") as archive:
            archive.writestr(path.stem, content)
        return made.getvalue()
    if path.suffix == ".zst":
        import pyarrow

        stream = pyarrow.BufferOutputStream()
        with pyarrow.CompressedOutputStream(stream, "zstd") as packing:
            packing.write(content)
        return stream.getvalue().to_pybytes()
    return {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}.get(path.suffix, bytes)(content)


def content_of(path):
    """What an output holds: text as it is, tables of Parquet as csv, arrays by dtype, shape and values; or None."""
    if not path.exists():
        return None
    if path.suffix == ".parquet":
        return pd.read_parquet(path).to_csv(index=False)
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            return {name: described(arrays[name], path.parent) for name in arrays}
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return f"{path.suffix} file"


def described(array, folder):
    """An array's dtype, shape and values; a text as it is."""
    if array.dtype.kind == "U" and array.ndim == 0:
        return steady(str(array), folder)
    return [str(array.dtype), array.shape, array]
