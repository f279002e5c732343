"""A command as its user runs it, and all that it leaves: exit code, what it prints, the files it writes."""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import re
import shlex
import sys
import zipfile
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

ON_CPU = {"train-lshmf", "tune", "update", "predict", "evaluate", "recommend", "similar", "ranksvm", "impute"}
VOLATILE = (  # what differs from run to run, or from machine to machine
    (re.compile(r"The first run compiles .*\n"), ""),
    (re.compile(r"Seconds: .*"), "Seconds: #"),
    (re.compile(r"from the cache|computed on cpu"), "#"),
    (re.compile(r"\(\d+ threads?\)"), "(# threads)"),
    (re.compile(r"\d[\d,]*(?:\.\d+)? ?(?:s|ms|us|MB|GB|MiB|GiB|KiB|kB)\b(?:/s)?"), "#"),
    (re.compile(r"\d[\d,.]* (?:[a-z]+ )?a second"), "# a second"),
    (re.compile(r'("(?:seconds|[a-z_]*_seconds|rate|version|date|host)": )[^,}\n]+'), r"\1#"),
)


@dataclass(frozen=True)
class Case:
    """Commands on small files, one after another, in a folder of their own.

    files: name -> text or bytes; a name that ends in .gz, .bz2, .xz, .zst or .zip is compressed. stdin: what the last
    command reads. outputs: names of files whose contents are part of the answer. why: what the case is there for.
    """

    name: str
    commands: tuple | str
    files: dict = field(default_factory=dict)
    stdin: bytes | str | None = None
    outputs: tuple = ()
    why: str = ""


def answer(case, folder, monkeypatch):
    """What a case leaves: a list of the commands' exit codes and lines, and the outputs as text."""
    monkeypatch.chdir(folder)
    for name, content in case.files.items():
        write(folder / name, content)
    commands = (case.commands,) if isinstance(case.commands, str) else case.commands
    steps = [run(command, case.stdin, monkeypatch, folder) for command in commands]
    return {"steps": steps, "outputs": {name: content_of(folder / name) for name in case.outputs}}


def run(command, stdin, monkeypatch, folder):
    """`gpukit COMMAND` in this process, on the CPU where it has the choice: exit code, stdout, stderr."""
    from gpukit.cli.main import run as gpukit  # what the command `gpukit` runs

    arguments = shlex.split(command)
    if arguments and arguments[0] in ON_CPU and "--device" not in arguments and "--help" not in arguments:
        arguments += ["--device", "cpu"]
    streams = {name: io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    with piped(stdin.encode() if isinstance(stdin, str) else stdin or b""):
        code = gpukit(arguments)
    texts = {}
    for name, stream in streams.items():
        stream.flush()
        texts[name] = steady(stream.buffer.getvalue().decode("utf-8", "replace"), folder)
    return {"command": command, "code": code, **texts}


@contextlib.contextmanager
def piped(content):
    """Within it standard input is a pipe that holds a few bytes."""
    kept = os.dup(0)
    receive, send = os.pipe()
    os.write(send, content)
    os.close(send)
    os.dup2(receive, 0)
    os.close(receive)
    try:
        yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)


def steady(text, folder):
    """A text without what differs from run to run."""
    text = text.replace(str(folder), "DIR")
    for pattern, stands in VOLATILE:
        text = pattern.sub(stands, text)
    return text


def write(path, content):
    """A small input file, compressed as its name says."""
    content = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed(path, content))


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
