"""`gpukit doctor`: versions, devices, missing packages and the command that installs them."""

import ctypes
import fnmatch
import os
import re
import sys
import time
from importlib import metadata
from pathlib import Path

import click

from gpukit._cores import cores
from gpukit._version import __version__
from gpukit.cli import options, report
from gpukit.cli.options import option
from gpukit.cli.outputs import size_of
from gpukit.device.memory import available_memory
from gpukit.errors import GpukitError, ParameterError
from gpukit.runtime.thread_count import get_num_threads

PACKAGES = ("numpy", "numba", "numba-cuda", "llvmlite", "scipy", "pandas", "click", "cupy", "matplotlib")
COMPILERS = ("nvidia-nvvm", "nvidia-nvjitlink")  # packages that generate GPU code, shown with the other versions
NAMES = {  # alternative names of a package
    "cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy"),
    "nvidia-nvjitlink": ("nvidia-nvjitlink", "nvidia-nvjitlink-cu12"),
    "nvidia-nvvm": ("nvidia-nvvm", "nvidia-cuda-nvcc-cu12"),
}
OF_CUDA_13 = ("nvidia-nvjitlink", "cupy-cuda13x")
# Requirements of a feature: (feature, packages, extra); extra None: the one of extra_for.
NEEDS = (
    ("GPU kernels", ("numba-cuda", "nvidia-nvjitlink"), None),
    ("imputation on a GPU", ("cupy",), None),
    ("pictures (--plot)", ("matplotlib",), "plot"),
)
GPU_COLUMNS = {"index": "cuda:", "name": "GPU", "compute_capability": "capability", "memory": "memory", "free": "free"}
RUNS = "runs"  # a kernel of one line
JOBS = ("ratings", "clicks", "lists", "documents", "graphs", "tables")  # of compilation/signatures.txt
TESTED = {  # package: pattern of the versions, how to get one
    "python": ("3.1[123].*", "use Python 3.11, 3.12 or 3.13"),
    "numpy": ("2.[0-4].*", "pip install 'numpy<2.5'"),  # numba-cuda 0.30.4 needs np.row_stack
    "numba": ("0.68.*", "pip install 'numba==0.68.*'"),
    "numba-cuda": ("0.30.4", "pip install 'numba-cuda==0.30.4'"),
}


@click.command()
@click.argument("jobs", metavar="[JOB]...", nargs=-1, type=click.Choice(JOBS))
@option("--compile compiles", "Compile the code of every JOB instead; needs no GPU.", bool)
@option("--for targets LIST", "Compile kernels for these GPUs: sm_80,sm_90 [this machine's].")
@options.as_json
def doctor(jobs, compiles, targets, as_json):
    """Show versions and devices, what is missing for what, and the command that installs it.

    Ends with exit code 0: a missing piece is a finding, not a failure.

    With --compile, compiles what the first run of a command would compile, so that the run need not. A JOB is ratings,
    clicks, lists, documents, graphs (impute of a .npz) or tables (impute of a table); without one, all are compiled.
    Kernels are compiled for this machine's GPUs or those of --for, which needs neither a GPU nor a driver. Ends with
    exit code 1 if code cannot be compiled or kept.

    \b
    gpukit doctor
    gpukit doctor --compile
    gpukit doctor --compile ratings lists
    gpukit doctor --compile --for sm_80,sm_90
    """
    if compiles:
        return compile_code(jobs or JOBS, capabilities(targets), as_json)
    if targets is not None:
        raise ParameterError(f"--for is for --compile: gpukit doctor --compile --for {targets}")
    if jobs:
        raise ParameterError(f"{jobs[0]} is compiled by --compile: gpukit doctor --compile {' '.join(jobs)}")
    findings = examine()
    if as_json:
        report.print_json(findings)
    else:
        show(findings)


def capabilities(targets):
    """Return the compute capabilities that kernels are compiled for, those of this machine's GPUs if targets is None.

    targets: text such as sm_80,sm_90. Raises ParameterError if the compiler has no such target.
    """
    if targets is None:
        return sorted({numbers(gpu["compute_capability"]) for gpu in probe_gpus()[0]})
    from gpukit import _cuda

    known = _cuda.targets()
    names = [name.strip() for name in targets.split(",")]
    for name in names:
        if name not in known:
            raise ParameterError(f"--for: {name!r} is not a GPU that kernels can be compiled for: {', '.join(known)}.")
    return [known[name] for name in dict.fromkeys(names)]


def compile_code(jobs, targets, as_json):
    """Compile the code of jobs, with and without a GPU, and print the number of functions and the seconds.

    targets: compute capabilities of the GPUs that kernels are compiled for.
    """
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        raise GpukitError("NUMBA_DISABLE_JIT=1 is set, so nothing is compiled. Unset it.")
    from gpukit._cache import cache_folder
    from gpukit.compilation import helpers

    start = time.monotonic()
    with report.Compiling(as_json) as line:
        processes = max(1, min(cores(), available_memory() // helpers.MEMORY))
        names = [f"{job}{end}" for job in jobs for end in ("", "-gpu")]
        count, total = helpers.compile_jobs(names, processes, line.show, targets)
    seconds, folder = time.monotonic() - start, str(cache_folder())
    if as_json:
        report.print_json({"compiled": count, "functions": total, "seconds": seconds, "path": folder})
    elif count:
        report.echo(f"Compiled {count} of {total} functions in {seconds:.1f} s: {folder}")
    else:
        report.echo(f"Nothing was missing: all {total} functions are in {folder}")


def examine():
    """Return the findings: versions, problems, gpus, driver, cpu_threads, missing, cache."""
    versions, cuda = installed_versions(), supported_cuda()
    gpus, trouble = probe_gpus()
    problems = known_problems(versions) + driver_problems(cuda, gpus) + kernel_problems(gpus, versions)
    problems += [trouble] if trouble else []
    findings = {"versions": versions, "problems": problems, "cpu_threads": get_num_threads()}
    findings |= {"driver": driver_version(cuda), "gpus": gpus, "missing": missing_features(gpus, extra_for(cuda))}
    return {**findings, "cache": code_cache()}


def installed_versions():
    """Return {package: version or None}, python and gpukit first. Nothing is imported."""
    versions = {"python": sys.version.split()[0], "gpukit": __version__}
    return versions | {name: version(name) for name in (*PACKAGES, *COMPILERS)}


def version(package):
    """Return the installed version of a package under any of its names, or None."""
    return next(filter(None, map(version_of, NAMES.get(package, (package,)))), None)


def version_of(name):
    """Return the installed version of exactly this package, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def known_problems(versions):
    """Return messages about incompatible versions, each with its fix."""
    problems = [
        f"{package} {versions[package]} is not a tested version: {cure}"
        for package, (tested, cure) in TESTED.items()
        if versions[package] and not fnmatch.fnmatch(versions[package], tested)
    ]
    nvvm, linker = (numbers(versions.get(name)) for name in COMPILERS)
    if linker != (0, 0) and nvvm > linker:
        problems.append(
            f"nvidia-nvvm {versions['nvidia-nvvm']} is newer than nvidia-nvjitlink {versions['nvidia-nvjitlink']}, "
            f"which cannot link its code: pip install --upgrade 'nvidia-nvjitlink=={nvvm[0]}.{nvvm[1]}.*'"
        )
    return problems


def supported_cuda():
    """Return (major, minor) of the driver's newest CUDA; None without a driver."""
    number = ctypes.c_int()
    try:
        failed = ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        return None
    return None if failed else (number.value // 1000, number.value % 1000 // 10)


def extra_for(cuda):
    """Return the extra for a driver, given the result of supported_cuda."""
    return "cuda12" if cuda and cuda < (13, 0) else "cuda"


def driver_problems(cuda, gpus):
    """Return messages about a driver that is too old.

    The driver is compared with the requirements of gpukit, of the GPU and of the installed packages.
    """
    if cuda is None or cuda >= (13, 0):
        return []
    support, newer = f"the driver supports CUDA {cuda[0]}.{cuda[1]}", "a driver from 580 on supports CUDA 13"
    oldest, new_gpus = (12, 0), (10, 0)  # NVVM of CUDA 12 rejects atomic additions of floats for capability 10.0
    if cuda < oldest:
        return [f"{support}; gpukit needs 12.0 or later: update the driver ({newer})"]
    if new := [gpu["name"] for gpu in gpus if numbers(gpu["compute_capability"]) >= new_gpus]:
        return [f"{support}, but {new[0]} needs CUDA 13: update the driver ({newer}), then pip install 'gpukit[cuda]'"]
    wrong = " ".join(name for name in OF_CUDA_13 if version_of(name))
    cure = f"pip uninstall {wrong}; pip install 'gpukit[cuda12]'. Or update the driver ({newer})"
    return [f"{support}, but packages of CUDA 13 are installed: {cure}"] if wrong else []


def kernel_problems(gpus, versions):
    """Return messages about GPUs on which a one-line kernel fails."""
    packages = ", ".join(f"{name} {versions.get(name)}" for name in (*COMPILERS, "numba", "numba-cuda", "cupy"))
    return [
        f"cuda:{gpu['index']} ({gpu['name']}) does not run a kernel of one line: {gpu['kernel']} ({packages})"
        for gpu in gpus
        if gpu.get("kernel", RUNS) != RUNS
    ]


def numbers(text):
    """Return (major, minor) of a version text; (0, 0) for None."""
    return tuple(int(part) if part.isdecimal() else 0 for part in (text or "0.0").split(".")[:2])


def probe_gpus():
    """Return ([{index, name, compute_capability, memory, free, kernel} ...], error message or None)."""
    if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
        return [], "NUMBA_ENABLE_CUDASIM=1 is set: the simulator stands in for the GPU. Unset it for real work."
    try:
        from gpukit._cuda import cuda

        if not cuda.is_available():
            return [], None
        return [describe_gpu(cuda, index) for index in range(len(cuda.gpus))], None
    except Exception as error:  # any fault of the driver or the toolkit is a finding
        return [], f"the GPU cannot be used: {type(error).__name__}: {error}".splitlines()[0]


def describe_gpu(cuda, index):
    """Describe a GPU; memory in bytes; kernel: RUNS, or the reason of its failure."""
    from gpukit.device.kernels import failure

    with cuda.gpus[index]:
        free, total = cuda.current_context().get_memory_info()
        device = cuda.get_current_device()
        name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
        major, minor = device.compute_capability
    known = {"index": index, "name": name, "compute_capability": f"{major}.{minor}"}
    return {**known, "memory": int(total), "free": int(free), "kernel": failure(index) or RUNS}


def driver_version(cuda):
    """Return the driver and its newest CUDA, as '580.65.06, CUDA 13.0', or None.

    An unknown part is omitted.
    """
    module = Path("/proc/driver/nvidia/version")
    match = re.search(r"\b\d{3}\.\d+(\.\d+)?\b", module.read_text()) if module.exists() else None
    parts = [match.group()] if match else []
    if cuda:
        parts.append("CUDA {}.{}".format(*cuda))
    return ", ".join(parts) or None


def missing_features(gpus, gpu_extra="cuda"):
    """Return [{feature, missing, install}] of unavailable features; gpu_extra: from extra_for."""
    features = [
        {"feature": feature, "missing": ", ".join(lacking), "install": f"pip install 'gpukit[{extra or gpu_extra}]'"}
        for feature, packages, extra in NEEDS
        if (lacking := [p for p in packages if version(p) is None])
    ]
    if not gpus and (not features or features[0]["feature"] != "GPU kernels"):
        cure = "install an NVIDIA driver (580 or later); --device cpu needs none"
        features.insert(0, {"feature": "GPU kernels", "missing": "a GPU with its driver", "install": cure})
    return features


def code_cache():
    """Return {path, bytes, other_bytes} of the compiled code; other_bytes counts other versions.

    None if numba cannot be imported, because then nothing is compiled.
    """
    try:
        from gpukit._cache import cache_folder
    except ImportError:
        return None

    folder = cache_folder()
    own_bytes, everything = size_of(folder), size_of(folder.parent)
    return {"path": str(folder), "bytes": own_bytes, "other_bytes": everything - own_bytes}


def show(findings):
    """Print the findings as text."""
    rows = [{"what": name, "version": text or "not installed"} for name, text in findings["versions"].items()]
    report.print_table(rows, {"what": "package", "version": "version"})
    report.echo()
    report.echo(f"CPU: {findings['cpu_threads']} thread(s)")
    if findings["gpus"]:
        sizes = ({name: f"{gpu[name] / 2**30:.1f} GiB" for name in ("memory", "free")} for gpu in findings["gpus"])
        report.print_table([gpu | size for gpu, size in zip(findings["gpus"], sizes)], GPU_COLUMNS)
        report.echo(f"Driver: {findings['driver'] or 'version unknown'}")
    else:
        report.echo("GPU: none found; --device auto uses the CPU")
    report.echo()
    for problem in findings["problems"]:
        report.echo(f"Problem: {problem}")
    for item in findings["missing"]:
        report.echo(f"Missing for {item['feature']}: {item['missing']}. To have it: {item['install']}")
    if not findings["problems"] and not findings["missing"]:
        report.echo("Nothing is missing.")
    cache = findings["cache"]
    if cache is None:
        report.echo("Compiled code: none, numba cannot be imported: pip install gpukit")
        return
    older = f", and {cache['other_bytes'] / 2**20:.1f} MiB of other versions" if cache["other_bytes"] else ""
    report.echo(f"Compiled code: {cache['path']} ({cache['bytes'] / 2**20:.1f} MiB{older}); it can be removed.")
