"""`Kind`: what a kind of input is to the fuzzer; all of them by name."""

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
PLANTED = "planted"  # kinds with faults of their own, for tests of the fuzzer


class Sample(NamedTuple):
    """A valid input: files {name: bytes}; path, what is read: the name of one of them, or "." for their folder;
    targets: the names of those that are mutated."""

    files: dict
    path: str
    targets: tuple


def single(name, data):
    """The Sample of one file."""
    return Sample({name: data}, name, (name,))


@dataclass(frozen=True)
class Kind:
    """A kind of input.

    samples()           [Sample], made once a process
    mutators            functions (bytes, rng) -> bytes, of a target
    answer(path, use)   {name: array, str, number or None}: what reading and using it gives; raises gpukit's errors
    judge(answer, files) None, or what is wrong with the answer to the mutated files
    uses(rng)           {name: value of JSON}: how it is read and used
    same                an answer to a file with a bit flipped must be that to the whole one
    pipes               it may come through a pipe, with the same answer as from a file
    share               how often it is tried, relative to others
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
    """{name: Kind} of rooms, files of kinds/."""
    found = {}
    for room in rooms:
        for kind in importlib.import_module(f"fuzz.kinds.{room}").KINDS:
            assert kind.name not in found, kind.name
            found[kind.name] = kind
    return found
