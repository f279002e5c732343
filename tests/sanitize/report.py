"""Output of compute-sanitizer: findings by kernel, and the end of the tool."""

import functools
import re
from typing import NamedTuple

PREFIX = "========="
SUMMARY = re.compile(r"(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)")
SAYS_NOTHING = re.compile(r"COMPUTE-SANITIZER|\w+ SUMMARY|Info:|Target application returned an error|$")


class Finding(NamedTuple):
    """The kernel's name ("sorting.kernels.first_nan"; "" if none of gpukit's is named) and the finding."""

    kernel: str
    what: str


def findings(text, kernels):
    """Return the distinct [Finding] of compute-sanitizer's output, including those of a summary without details."""
    found = [Finding(_kernel_in(block, kernels), block[0]) for block in _blocks(text)]
    if not found and counted(text):
        found.append(Finding("", f"{counted(text)} errors in the summary, none described"))
    return list(dict.fromkeys(found))


def counted(text):
    """Return the errors of the summaries; None without a summary, when the tool did not run to the end."""
    numbers = [int(one or other) for one, other in SUMMARY.findall(text)]
    return sum(numbers) if numbers else None


def passed(text):
    """Return True if pytest reports that its one test passed."""
    return re.search(r"^1 passed", text, re.MULTILINE) is not None


def _blocks(text):
    """Return the lines of each report: an unindented line, then indented ones."""
    block = []
    for line in text.splitlines():
        if not line.startswith(PREFIX) or line.endswith("=") and line != PREFIX:  # the latter are pytest's separators
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
    """Return the first of the kernels that the lines name, or ""."""
    return next((name for line in block for name in kernels if _spelling(name).search(line)), "")


@functools.cache
def _spelling(name):
    """Return a regular expression for a kernel's name in C++ or linker form.

    In the latter each module follows its length; factories may be between module and kernel.
    """
    *modules, kernel = "gpukit", *name.split(".")
    linked = "".join(f"{len(part)}{part}" for part in modules) + rf"(?:\d+\w+_3e)?{len(kernel)}{kernel}[BE]"
    return re.compile(rf"{'::'.join(modules)}::(?:\w+::)*{kernel}\b|{linked}")
