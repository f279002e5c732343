"""What a kernel costs, without a GPU: registers, spills, shared memory and float64 instructions, from the real tools.

numba-cuda compiles a kernel to LLVM code, the same for all devices, NVVM that to LTO-IR for one of them, and nvJitLink
turns that into machine code. None needs a driver; only the question "which device?" does, so it is answered here. The
figures are those of the build that a GPU would run. The first step takes longer than the others: it is done once for
all targets, which are then linked side by side. Private names of numba-cuda 0.30.4 are used: one process for this tier,
pinned versions, and never together with the simulator.
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
    """The compute capability as numba-cuda writes it, and the bytes of shared memory that a block may ask for."""

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
RECORDED = ("sm_80", "sm_90")  # in docs/kernels.csv; limits are theirs
IN_TURN = ("sm_86", "sm_89")  # whose code has cost the same for every kernel: a case is built for one of them
ELSEWHERE = 1.5, 64  # on other targets: times the registers, bytes spilled beyond the limit
KERNEL_OPTIONS = set(list(inspect.signature(dispatcher._Kernel).parameters)[2:]) - {"device"}  # not function, types


@dataclass(frozen=True)
class Case:
    """One kernel to build, and what it may cost.

    name        "room.kernel" or "room.kernel[variant]", as it stands in docs/kernels.csv
    kernel      what @kernel returned (of a factory: call it with the constants of the case)
    signature   argument types as text, e.g. "float32[:, ::1], int32[::1], int32", or a tuple of texts and numba types
    registers   most registers a thread may use on the targets of RECORDED; on others, half as many more
    float64_ok  True when float64 arithmetic is wanted; else one such instruction fails the case
    shared      most bytes of static shared memory a block
    spills      most bytes spilled to local memory on the targets of RECORDED; on others, 64 more
    dynamic     bytes of dynamic shared memory that a launch asks for
    targets     what the kernel is launched on
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
        """The targets, of IN_TURN only one: which, goes by the name."""
        left_out = IN_TURN[zlib.crc32(self.name.encode()) % 2]
        return [target for target in self.targets if target != left_out or not set(IN_TURN) <= set(self.targets)]


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
                f"launched with {case.dynamic} bytes of dynamic memory beside {self.shared} of shared memory; "
                f"a block may have {TARGETS[self.target].shared}"
            )
        return [f"{self.case} on {self.target}: {fault}" for fault in found]


def named(kind, **fields):
    """The type of a named tuple of C-ordered arrays: field=(numba type of an element, dimensions)."""
    assert tuple(fields) == kind._fields
    return types.NamedTuple([types.Array(dtype, ndim, "C") for dtype, ndim in fields.values()], kind)


def measure(case, target):
    """The Usage of a case built for a target."""
    return measure_all(case)[target]


@functools.cache
def measure_all(case):
    """{target: Usage} of a case built for its targets."""
    targets, library = case.built_for(), _build(case.kernel, case.signature)
    with _device(), ThreadPoolExecutor(os.cpu_count()) as pool:
        code = pool.submit(library.get_lto_ptx, TARGETS[targets[0]].capability)
        logs = list(pool.map(functools.partial(_link, library), targets))
        float64 = float64_instructions(code.result())
    return {target: _usage(case, target, log, float64) for target, log in zip(targets, logs)}


def listing(case, target):
    """The PTX of a case for a target, as it is after linking."""
    library = _build(case.kernel, case.signature)
    with _device():
        return library.get_lto_ptx(TARGETS[target].capability)


def llvm_code(case, target):
    """The LLVM code of a case, built for a target; names that are numbered left out."""
    return re.sub(r"_ZN\w+|ModuleID = .*", "", _build(case.kernel, case.signature, target).get_llvm_str())


def _link(library, target):
    """What the linker reports of a build."""
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
    typed = _compiled(case.kernel, case.signature, target)._type_annotation.typemap
    return {found.bitwidth for variable, found in typed.items() if variable.split(".")[0] == name}


def _build(kernel, signature, target=RECORDED[0]):
    """The library of a kernel, from which code for any target can be had; the target is the one it is told of."""
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
    """A target's device stands where a driver would give one, and the linker is asked to report.

    What else to link is looked for in the LLVM code, which has the same names as PTX and is there already.
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
