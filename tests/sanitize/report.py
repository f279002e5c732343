"""What compute-sanitizer's output says: findings, each of a kernel, and whether the tool came to its end."""

import functools
import re
from typing import NamedTuple

PREFIX = "========="
SUMMARY = re.compile(r"(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)")
SAYS_NOTHING = re.compile(r"COMPUTE-SANITIZER|\w+ SUMMARY|Info:|Target application returned an error|$")


class Finding(NamedTuple):
    """The kernel's name ("sorting.kernels.first_nan"; "" where none of gpukit's is named) and what was found in it."""

    kernel: str
    what: str


def findings(text, kernels):
    """[Finding], each once, of the output of compute-sanitizer; those of a summary without details count too."""
    found = [Finding(_kernel_in(block, kernels), block[0]) for block in _blocks(text)]
    if not found and counted(text):
        found.append(Finding("", f"{counted(text)} errors in the summary, none described"))
    return list(dict.fromkeys(found))


def counted(text):
    """The errors that the summaries count; None where there is no summary: the tool was not at work to the end."""
    numbers = [int(one or other) for one, other in SUMMARY.findall(text)]
    return sum(numbers) if numbers else None


def passed(text):
    """Whether pytest says that its one test passed."""
    return re.search(r"^1 passed", text, re.MULTILINE) is not None


def _blocks(text):
    """The lines of each thing reported: a line that is not indented, then those that are."""
    block = []
    for line in text.splitlines():
        if not line.startswith(PREFIX) or line.endswith("=") and line != PREFIX:  # the latter are pytest's rules
            continue
        line = line[len(PREFIX) :]
        if line.startswith("  "):
            block += [line.strip()] * bool(block)
            continue
        if block:
            yield block
        block = [] if SAYS_NOTHING.match(line.strip()) else [line.strip()]
    if block:
        yield block


def _kernel_in(block, kernels):
    """The first of the kernels that the lines name, or ""."""
    return next((name for line in block for name in kernels if _spelling(name).search(line)), "")


@functools.cache
def _spelling(name):
    """A kernel's name as C++ writes it or as the linker does, each module with its length before it; factories may
    stand between module and kernel."""
    *modules, kernel = "gpukit", *name.split(".")
    linked = "".join(f"{len(part)}{part}" for part in modules) + rf"(?:\d+\w+_3e)?{len(kernel)}{kernel}[BE]"
    return re.compile(rf"{'::'.join(modules)}::(?:\w+::)*{kernel}\b|{linked}")
