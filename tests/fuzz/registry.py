"""`Kind`: a kind of input for the fuzzer; all of them by name."""

import importlib
from dataclasses import dataclass
from typing import NamedTuple

ROOMS = (
    "ratings",
    "small",
    "lists",
    "documents",
    "graphs",
    "completed",
    "sensors",
    "models",
    "clicks",
    "imputers",
    "checkpoints",
)
PLANTED = "planted"  # kinds with planted faults, for tests of the fuzzer


class Sample(NamedTuple):
    """A valid input.

    files {name: bytes}; path: the name of the file to read, or "." for their folder; targets: the names of the files to
    mutate.
    """

    files: dict
    path: str
    targets: tuple


def single(name, data):
    """Return the Sample of one file."""
    return Sample({name: data}, name, (name,))


@dataclass(frozen=True)
class Kind:
    """A kind of input.

    samples()           [Sample], computed once per process
    mutators            functions (bytes, rng) -> bytes, of a target
    answer(path, use)   {name: array, str, number or None}: results of reading and use; raises gpukit's errors
    judge(answer, files) None, or the fault of the answer to the mutated files
    uses(rng)           {name: value of JSON}: options of reading and use
    same                True if a file with a flipped bit must give the answer of the intact one
    pipes               True if a pipe must give the answer of a file
    share               frequency relative to others
    """

    name: str
    samples: object
    mutators: tuple
    answer: object
    judge: object
    uses: object = lambda rng: {}
    same: bool = False
    pipes: bool = False
    share: float = 1.0


def kinds(rooms=ROOMS):
    """Return {name: Kind} of files of kinds/."""
    found = {}
    for room in rooms:
        for kind in importlib.import_module(f"fuzz.kinds.{room}").KINDS:
            assert kind.name not in found, kind.name
            found[kind.name] = kind
    return found
