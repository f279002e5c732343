"""Cases by (kind, mode, seed, index), equal on every machine."""

import functools
from typing import NamedTuple
from zlib import crc32

import numpy as np

from fuzz.mutate import raw
from fuzz.registry import PLANTED, ROOMS, Sample, kinds

MODES = ("mutate", "cut", "flip")


class Case(NamedTuple):
    """A case by name; mode: 'mutate', 'cut' (a truncation) or 'flip' (a bit)."""

    kind: str
    mode: str
    seed: int
    index: int


class Input(NamedTuple):
    """A generated case: the mutated Sample, its use, and the original Sample."""

    sample: Sample
    use: dict
    whole: Sample


@functools.lru_cache(None)
def kind_of(name):
    """Return the Kind of a name."""
    return kinds((PLANTED,) if name.startswith(PLANTED) else ROOMS)[name]


@functools.lru_cache(None)
def samples(name):
    """Return [Sample] of a kind, computed once per process."""
    return kind_of(name).samples()


def made(case):
    """Return the Input of a Case."""
    kind = kind_of(case.kind)
    rng = np.random.default_rng([crc32(case.kind.encode()), MODES.index(case.mode), case.seed, case.index])
    whole = samples(case.kind)[rng.integers(len(samples(case.kind)))]
    use = kind.uses(rng)
    if kind.pipes and len(whole.files) == 1 and rng.random() < 0.15:
        use["pipe"] = "fifo" if rng.random() < 0.2 else "fd"
    target = whole.targets[rng.integers(len(whole.targets))]
    data = mutated(kind, case.mode, whole.files[target], rng)
    return Input(whole._replace(files={**whole.files, target: data}), use, whole)


def mutated(kind, mode, data, rng):
    """Return bytes after a flip, a truncation, or one to four mutations."""
    if mode != "mutate":
        return (raw.flip if mode == "flip" else raw.truncate)(data, rng)
    for _ in range(int(rng.choice([1, 2, 3, 4], p=(0.55, 0.25, 0.12, 0.08)))):
        mutate = kind.mutators[rng.integers(len(kind.mutators))]
        try:
            data = mutate(data, rng)
        except Exception:  # a structured mutator cannot read the result of the previous one
            data = raw.BYTES[rng.integers(len(raw.BYTES))](data, rng)
    return data
