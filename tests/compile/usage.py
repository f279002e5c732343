"""What a kernel costs, without a GPU: registers, spills, shared memory and float64 instructions, from the real tools.

numba-cuda compiles a kernel to LTO-IR and nvJitLink turns that into machine code. Neither needs a driver; only the
question "which device?" does, so it is answered here. The figures are those of the build that a GPU would run. Private
names of numba-cuda 0.30.4 are used: one process for this tier, pinned versions, and never together with the simulator.
"""

import contextlib
import csv
import inspect
import re
from dataclasses import astuple, dataclass, fields
from types import SimpleNamespace
from unittest import mock

from numba.cuda import codegen, dispatcher
from numba.cuda.core import sigutils
from numba.cuda.cudadrv import driver

TARGETS = {"sm_80": (8, 0, ""), "sm_90": (9, 0, "a")}
KERNEL_OPTIONS = set(list(inspect.signature(dispatcher._Kernel).parameters)[2:]) - {"device"}  # not function, types


@dataclass(frozen=True)
class Case:
    """One kernel to build, and what it may cost.

    name        "room.kernel" or "room.kernel[variant]", as it stands in docs/kernels.csv
    kernel      what @kernel returned (of a factory: call it with the constants of the case)
    signature   argument types as text, e.g. "float32[:, ::1], int32[::1], int32", or a tuple of texts and numba types
    registers   most registers a thread may use
    float64_ok  True when float64 arithmetic is wanted; else one such instruction fails the case
    shared      most bytes of static shared memory a block;  spills: most bytes spilled to local memory
    targets     what the kernel is built for
    """

    name: str
    kernel: object
    signature: str | tuple
    registers: int
    float64_ok: bool = False
    shared: int = 48 << 10
    spills: int = 0
    targets: tuple = tuple(TARGETS)


@dataclass(frozen=True)
class Usage:
    """One row of docs/kernels.csv: costs of a thread (registers, bytes spilled, bytes of stack) and of a block."""

    case: str
    target: str
    registers: int
    spills: int
    stack: int
    shared: int
    float64: int

    def faults(self, case):
        """What breaks the case's limits, as sentences; empty when all is well."""
        limits = [("registers", case.registers), ("spills", case.spills), ("shared", case.shared)]
        found = [f"{what}: {getattr(self, what)}, limit {most}" for what, most in limits if getattr(self, what) > most]
        if self.float64 and not case.float64_ok:
            found.append(f"{self.float64} float64 instructions (write np.float32(...) around literals and results)")
        return [f"{self.case} on {self.target}: {fault}" for fault in found]


def measure(case, target):
    """Build a case for "sm_80" or "sm_90"; returns its Usage."""
    with _device(TARGETS[target]):
        library = _build(case.kernel, case.signature)
        library.get_cubin(cc=TARGETS[target])
        log = str(library.get_linkerinfo(TARGETS[target]))
        listing = library.get_lto_ptx(cc=TARGETS[target])
    registers = re.findall(r"Used (\d+) registers", log)
    assert registers, f"the linker did not report registers: {log!r}"
    spills = sum(map(int, re.findall(r"(\d+) bytes spill (?:stores|loads)", log)))
    stack, shared = (
        max(map(int, re.findall(rf"(\d+) bytes {what}", log)), default=0) for what in ("stack frame", "smem")
    )
    return Usage(case.name, target, max(map(int, registers)), spills, stack, shared, float64_instructions(listing))


def float64_instructions(listing):
    """How many instructions of a PTX listing touch float64; comments and declarations do not count."""
    code = re.sub(r"//.*", "", listing)
    lines = [line.strip() for line in code.splitlines()]
    return sum(1 for line in lines if re.search(r"\.f64\b", line) and not line.startswith("."))


def write_table(path, usages):
    """docs/kernels.csv, one row a case and target, sorted."""
    with open(path, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([f.name for f in fields(Usage)])
        table.writerows(sorted(map(astuple, usages)))


def widths(case, target, name):
    """Bits of every integer type that the compiler gave to a kernel's variable."""
    with _device(TARGETS[target]):
        built = _compile(case.kernel, case.signature)
    typed = built._type_annotation.typemap
    return {found.bitwidth for variable, found in typed.items() if variable.split(".")[0] == name}


def _build(kernel, signature):
    return _compile(kernel, signature)._codelibrary


def _compile(kernel, signature):
    arguments = _types(signature)
    options = {name: value for name, value in kernel.targetoptions.items() if name in KERNEL_OPTIONS}
    return dispatcher._Kernel(kernel.py_func, arguments, **{**options, "lto": True})


def _types(signature):
    if isinstance(signature, str):
        return sigutils.normalize_signature(f"void({signature})")[0]
    return tuple(t for part in signature for t in (_types(part) if isinstance(part, str) else (part,)))


@contextlib.contextmanager
def _device(capability):
    """A device of this compute capability stands where a driver would give one, and the linker is asked to report."""
    device = SimpleNamespace(compute_capability=capability[:2], id=0)
    plain = driver.LinkerOptions
    with (
        mock.patch.object(dispatcher, "get_current_device", lambda: device),
        mock.patch.object(codegen.devices, "get_context", lambda *_: SimpleNamespace(device=device)),
        mock.patch.object(driver, "LinkerOptions", lambda **options: plain(**options, ptxas_options=["-v"])),
    ):
        yield
