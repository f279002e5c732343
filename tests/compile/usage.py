"""Cost of a kernel without a GPU: registers, spills, shared memory and float64 instructions, from the real tools.

numba-cuda compiles a kernel to LLVM code for all devices, NVVM compiles that to LTO-IR for one of them, and nvJitLink
links machine code. None needs a driver; only the query for the device does, so it is replaced here. The figures are
those of a GPU's build. The first step takes longest and runs once for all targets, which are then linked in parallel.
Private names of numba-cuda 0.30.4 are used: one process for this tier, pinned versions, and never together with the
simulator.
"""

import contextlib
import csv
import functools
import inspect
import os
import re
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, fields
from types import SimpleNamespace
from typing import NamedTuple
from unittest import mock

from numba.core import types
from numba.cuda import codegen, dispatcher
from numba.cuda.core import sigutils
from numba.cuda.cudadrv import driver


class Target(NamedTuple):
    """The compute capability in numba-cuda's form, and the largest shared memory of a block in bytes."""

    capability: tuple
    shared: int


# Shared memory: CUDA C++ Programming Guide, table of technical specifications per compute capability.
TARGETS = {
    "sm_75": Target((7, 5, ""), 64 << 10),
    "sm_80": Target((8, 0, ""), 163 << 10),
    "sm_86": Target((8, 6, ""), 99 << 10),
    "sm_89": Target((8, 9, ""), 99 << 10),
    "sm_90": Target((9, 0, "a"), 227 << 10),
    "sm_120": Target((12, 0, "a"), 99 << 10),
}
RECORDED = ("sm_80", "sm_90")  # in docs/kernels.csv; limits apply to them
IN_TURN = ("sm_86", "sm_89")  # equal cost for every kernel so far: a case is built for one of them
BETWEEN = (*IN_TURN, "sm_120")  # the oldest target and RECORDED are never left out
ELSEWHERE = 1.5, 64  # on other targets: factor of the registers, bytes spilled beyond the limit
KERNEL_OPTIONS = set(list(inspect.signature(dispatcher._Kernel).parameters)[2:]) - {"device"}  # not function, types


@dataclass(frozen=True)
class Case:
    """One kernel to build, and its limits.

    name        "room.kernel" or "room.kernel[variant]", as in docs/kernels.csv
    kernel      the result of @kernel (for a factory: call it with the constants of the case)
    signature   argument types as text, e.g. "float32[:, ::1], int32[::1], int32", or a tuple of texts and numba types
    registers   most registers of a thread on the targets of RECORDED; on others, half as many more
    float64_ok  True if float64 arithmetic is intended; else one such instruction fails the case
    shared      most bytes of static shared memory per block
    spills      most bytes spilled to local memory on the targets of RECORDED; on others, 64 more
    dynamic     bytes of dynamic shared memory of a launch
    targets     targets on which the kernel is launched
    """

    name: str
    kernel: object
    signature: str | tuple
    registers: int
    float64_ok: bool = False
    shared: int = 48 << 10
    spills: int = 0
    dynamic: int = 0
    targets: tuple = tuple(TARGETS)

    def built_for(self):
        """Return the targets, with one of IN_TURN, which depends on the name."""
        left_out = IN_TURN[zlib.crc32(self.name.encode()) % 2]
        return [target for target in self.targets if target != left_out or not set(IN_TURN) <= set(self.targets)]

    def built_first(self, only_recorded=False):
        """Return the targets of the continuous build: all but one of BETWEEN, which depends on the name.

        What fits one device's shared memory may exceed another's: a case with dynamic memory is built for all.
        """
        targets = self.built_for()
        if self.dynamic:
            return targets
        if only_recorded:
            return [target for target in targets if target in RECORDED] or targets
        between = [target for target in targets if target in BETWEEN]
        left_out = between[zlib.crc32(self.name.encode()) // 2 % 2] if len(between) == 2 else None
        return [target for target in targets if target != left_out]


@dataclass(frozen=True)
class Usage:
    """A row of docs/kernels.csv: costs of a thread (registers, bytes spilled, bytes of stack) and of a block."""

    case: str
    target: str
    registers: int
    spills: int
    stack: int
    shared: int
    float64: int

    def faults(self, case):
        """Return the violations of the case's limits, as sentences."""
        factor, further = (1, 0) if self.target in RECORDED else ELSEWHERE
        limits = [
            ("registers", int(factor * case.registers)),
            ("spills", case.spills + further),
            ("shared", case.shared),
        ]
        found = [f"{what}: {getattr(self, what)}, limit {most}" for what, most in limits if getattr(self, what) > most]
        if self.float64 and not case.float64_ok:
            found.append(f"{self.float64} float64 instructions (write np.float32(...) around literals and results)")
        if case.dynamic and self.shared + case.dynamic > TARGETS[self.target].shared:
            found.append(
                f"launched with {case.dynamic} bytes of dynamic memory and {self.shared} of shared memory; "
                f"a block may have {TARGETS[self.target].shared}"
            )
        return [f"{self.case} on {self.target}: {fault}" for fault in found]


def named(kind, **fields):
    """Return the type of a named tuple of C-ordered arrays: field=(numba type of an element, dimensions)."""
    assert tuple(fields) == kind._fields
    return types.NamedTuple([types.Array(dtype, ndim, "C") for dtype, ndim in fields.values()], kind)


def measure(case, target, targets=None):
    """Return the Usage of a case built for a target, one of `targets` (default: all), which are built together."""
    return measure_all(case, tuple(targets or case.built_for()))[target]


@functools.cache
def measure_all(case, targets):
    """Return {target: Usage} of a case built for targets."""
    library = _build(case.kernel, case.signature)
    with _device(), ThreadPoolExecutor(os.cpu_count()) as pool:
        code = pool.submit(library.get_lto_ptx, TARGETS[targets[0]].capability)
        logs = list(pool.map(functools.partial(_link, library), targets))
        float64 = float64_instructions(code.result())
    return {target: _usage(case, target, log, float64) for target, log in zip(targets, logs)}


def listing(case, target):
    """Return the PTX of a case for a target after linking."""
    library = _build(case.kernel, case.signature)
    with _device():
        return library.get_lto_ptx(TARGETS[target].capability)


def llvm_code(case, target):
    """Return the LLVM code of a case built for a target, without numbered names."""
    return re.sub(r"_ZN\w+|ModuleID = .*", "", _build(case.kernel, case.signature, target).get_llvm_str())


def _link(library, target):
    """Return the linker's report of a build."""
    capability = TARGETS[target].capability
    library.get_cubin(cc=capability)
    return str(library.get_linkerinfo(capability))


def _usage(case, target, log, float64):
    registers = re.findall(r"Used (\d+) registers", log)
    assert registers, f"the linker did not report registers: {log!r}"
    spills = sum(map(int, re.findall(r"(\d+) bytes spill (?:stores|loads)", log)))
    stack, shared = (
        max(map(int, re.findall(rf"(\d+) bytes {what}", log)), default=0) for what in ("stack frame", "smem")
    )
    return Usage(case.name, target, max(map(int, registers)), spills, stack, shared, float64)


def float64_instructions(listing):
    """Return the number of float64 instructions of a PTX listing, without comments and declarations."""
    code = re.sub(r"//.*", "", listing)
    lines = [line.strip() for line in code.splitlines()]
    return sum(1 for line in lines if re.search(r"\.f64\b", line) and not line.startswith("."))


def write_table(path, usages):
    """Write docs/kernels.csv, one row per case and target, sorted."""
    with open(path, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([f.name for f in fields(Usage)])
        table.writerows(sorted(map(astuple, usages)))


def widths(case, target, name):
    """Return the widths of the integer types that the compiler gave to a kernel's variable."""
    typed = _compiled(case.kernel, case.signature, target)._type_annotation.typemap
    return {found.bitwidth for variable, found in typed.items() if variable.split(".")[0] == name}


def _build(kernel, signature, target=RECORDED[0]):
    """Return the library of a kernel, from which code for any target can be linked, for a target."""
    return _compiled(kernel, signature, target)._codelibrary


@functools.cache
def _compiled(kernel, signature, target):
    arguments = _types(signature)
    options = {name: value for name, value in kernel.targetoptions.items() if name in KERNEL_OPTIONS}
    with _device(target):
        return dispatcher._Kernel(kernel.py_func, arguments, **{**options, "lto": True})


def _types(signature):
    if isinstance(signature, str):
        return sigutils.normalize_signature(f"void({signature})")[0]
    return tuple(t for part in signature for t in (_types(part) if isinstance(part, str) else (part,)))


@contextlib.contextmanager
def _device(target=RECORDED[0]):
    """Replace the driver's device by that of a target, and request a report from the linker.

    Further libraries to link are searched for in the LLVM code, which has the same names as PTX.
    """
    device = SimpleNamespace(compute_capability=TARGETS[target].capability[:2], id=0)
    plain, library = driver.LinkerOptions, codegen.CUDACodeLibrary
    with (
        mock.patch.object(dispatcher, "get_current_device", lambda: device),
        mock.patch.object(codegen.devices, "get_context", lambda *_: SimpleNamespace(device=device)),
        mock.patch.object(driver, "LinkerOptions", lambda **options: plain(**options, ptxas_options=["-v"])),
        mock.patch.object(library, "get_asm_str", library.get_llvm_str),
    ):
        yield
