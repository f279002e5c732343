"""The gates: project rules as functions. Each takes a path and returns the faults it finds, as sentences."""

import ast
import functools
import re
from pathlib import Path

KERNEL_DECORATORS = {"kernel", "cuda.jit"}
BLOCK_DECORATOR = "by_block"
TWIN_DECORATORS = {"njit", "numba.njit", BLOCK_DECORATOR}
SCRATCH = re.compile(r"(scratch|queue|workspace|counter|buffer|partial|ticket)")
COMPILERS = {"_jit.py", "_cuda.py", "_cache.py", "intrinsics.py", "_driver.py"}


def tree_of(path):
    """Return the syntax tree of a Python file."""
    return parsed(Path(path).read_text(encoding="utf-8"), str(path))


@functools.cache
def parsed(text, name):
    """Return the tree of a text, cached because many gates read each file."""
    return ast.parse(text, filename=name)


@functools.cache
def nodes_of(tree):
    """Return the nodes of a tree, as ast.walk; most gates read those of each file."""
    return list(ast.walk(tree))


def decorators(function):
    """Return the names of a function's decorators, calls without their arguments."""
    return [ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in function.decorator_list]


def is_device_function(function):
    """True for @kernel(device=True) and the like: no twin, no launch."""
    calls = [d for d in function.decorator_list if isinstance(d, ast.Call)]
    return any(k.arg == "device" for call in calls for k in call.keywords)


def jitted(path, names):
    """Return {function name: node} of functions decorated with one of names, also in factories; without device
    functions."""
    functions = [n for n in nodes_of(tree_of(path)) if isinstance(n, ast.FunctionDef)]
    return {f.name: f for f in functions if names & set(decorators(f)) and not is_device_function(f)}


def arguments(function):
    """Return the names of the arguments at a call: for a by_block without start and stop."""
    names = [a.arg for a in function.args.args]
    return names[2:] if is_by_block(function) else names


def is_by_block(function):
    """True for @by_block(...)."""
    return BLOCK_DECORATOR in decorators(function)


def holds_kernels(path):
    """Return True for files of kernels: kernels.py, <part>_kernels.py, or any file of a folder kernels/."""
    return path.stem == "kernels" or path.stem.endswith("_kernels") or path.parent.name == "kernels"


def twin_file(path):
    """Return the file of the twins of a file of kernels: its path with twins in place of kernels."""
    if path.parent.name == "kernels":
        return path.parent.with_name("twins") / path.name
    return path.with_name(path.name.replace("kernels", "twins"))


def kernels_by_folder(package):
    """Return [(folder, {name: kernel}, {name: twin})] of every file of kernels; folder: that it serves."""
    files = sorted(path for path in Path(package).rglob("*.py") if holds_kernels(path))
    return [(room_of(f), jitted(f, KERNEL_DECORATORS), twins_of(f)) for f in files]


def room_of(path):
    """Return the folder that a file of kernels serves."""
    return (path.parent.parent if path.parent.name == "kernels" else path.parent).name


def twins_of(path):
    """Return {name: twin} of a file of kernels, plain functions included; {} if the file of twins is missing."""
    twins = twin_file(path)
    if not twins.exists():
        return {}
    plain = {n.name: n for n in tree_of(twins).body if isinstance(n, ast.FunctionDef) and not n.decorator_list}
    return {**plain, **jitted(twins, TWIN_DECORATORS)}


def twins_match(package):
    """Kernels and twins have the same names and arguments in the same order.

    Launch scratch is last in a kernel and may be missing in the twin.
    """
    faults = []
    for owner, kernels, twins in kernels_by_folder(package):
        for name, kernel in kernels.items():
            if name not in twins:
                faults.append(f"{owner}: kernel {name} has no twin")
                continue
            mine, other = arguments(kernel), arguments(twins[name])
            spare = mine[len(other) :] if mine[: len(other)] == other else None
            if spare is None or not all(SCRATCH.search(argument) for argument in spare):
                faults.append(f"{owner}: {name}({', '.join(mine)}) but its twin takes ({', '.join(other)})")
    return faults


def kernels_live_in_kernels(package):
    """Only kernels.py, <part>_kernels.py and kernels/ contain kernels, so that the other gates see every kernel."""
    others = [f for f in sorted(Path(package).rglob("*.py")) if not holds_kernels(f)]
    return [
        f"{f.parent.name}/{f.name}: kernel {name} belongs in kernels.py or kernels/"
        for f in others
        for name in jitted(f, KERNEL_DECORATORS)
    ]


def kernels_are_documented(package):
    """Every kernel's docstring names shapes and dtypes of its arrays, Launch, Deterministic and Source."""
    faults = []
    for owner, kernels, _ in kernels_by_folder(package):
        for name, kernel in kernels.items():
            text = ast.get_docstring(kernel) or ""
            lacking = [line for line in ("Launch:", "Deterministic:", "Source:") if line not in text]
            if not re.search(r"\([\w +*/,.-]+,[\w +*/.-]*\)", text):
                lacking.append("a shape such as (n, k)")
            if not re.search(r"\b(u?int(8|16|32|64)|float(16|32|64)|bool)\b", text):
                lacking.append("a dtype such as float32")
            lacking += [f"argument {a}" for a in arguments(kernel) if not re.search(rf"\b{re.escape(a)}\b", text)]
            if lacking:
                faults.append(f"{owner}: the docstring of kernel {name} lacks {', '.join(lacking)}")
    return faults


def kernels_have_cases(package, cases):
    """Every kernel has a compile case that builds it and no other of its name; a case is named after its kernel.

    cases: [(name, module, function)], the name "package.kernel" or "package.kernel[variant]", module and function of
    the kernel that is built.
    """
    built = {(module, function) for _, module, function in cases}
    faults = [
        f"{module}: kernel {name} has no case in tests/compile/"
        for module, names in kernels_by_module(package)
        for name in names
        if (module, name) not in built
    ]
    for name, module, function in cases:
        own = case_names(module, function)
        if name.split("[")[0] not in own:
            faults.append(f"the case {name} builds {function} of {module}: it should be called {' or '.join(own)}")
    return faults


def kernels_are_sanitized(package, cases):
    """Every kernel has a test that launches it under compute-sanitizer. cases: {"package.kernels.kernel": test}."""
    there = [f"{module.partition('.')[2]}.{name}" for module, names in kernels_by_module(package) for name in names]
    return [f"kernel {name} has no line in tests/sanitize/cases.py" for name in there if name not in cases] + [
        f"tests/sanitize/cases.py names {name}, which is no kernel" for name in cases if name not in there
    ]


def case_names(module, function):
    """Return the possible case names of a kernel: package.kernel, and package.folder.kernel in a subfolder."""
    owner, *folders = module.split(".")[1:-1]
    folders = [folder for folder in folders if folder != "kernels"]
    return [f"{owner}.{function}", *(f"{owner}.{folder}.{function}" for folder in folders[-1:])]


def kernels_by_module(package):
    """Return [(module, {name: kernel})] of every file of kernels."""
    package = Path(package)
    files = sorted(path for path in package.rglob("*.py") if holds_kernels(path))
    return [
        (".".join((package.name, *f.relative_to(package).with_suffix("").parts)), jitted(f, KERNEL_DECORATORS))
        for f in files
    ]


def parameters_are_documented(package):
    """Every constructor argument of every class in an estimator.py is described in the class's docstring.

    Those that a class has from a base class of the file are described in the class, not in the base class.
    """
    faults = []
    for path in sorted(Path(package).rglob("estimator*.py")):
        classes = {node.name: node for node in tree_of(path).body if isinstance(node, ast.ClassDef)}
        bases = {
            name: [classes[b.id] for b in c.bases if getattr(b, "id", "") in classes] for name, c in classes.items()
        }
        are_bases = {base.name for parts in bases.values() for base in parts}
        for name in [name for name in classes if name not in are_bases]:
            names = [field for part in (classes[name], *bases[name]) for field in arguments_of(part)]
            text = ast.get_docstring(classes[name]) or ""
            lacking = [n for n in names if not re.search(rf"\b{n}\b", text)]
            if lacking:
                faults.append(f"{path.parent.name}: the docstring of {name} does not describe {', '.join(lacking)}")
    return faults


def arguments_of(node):
    """Return the names of a class's own constructor arguments: of its __init__, or of its fields as a dataclass."""
    starts = [f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
    names = [a.arg for f in starts for a in (*f.args.args, *f.args.kwonlyargs) if a.arg != "self"]
    if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
        fields = [field for field in node.body if isinstance(field, ast.AnnAssign)]
        names += [f.target.id for f in fields if "init=False" not in ast.unparse(f)]
    return names


def compilers_have_one_door(package):
    """Only _jit.py, _cuda.py, the cache of both, the intrinsics and the driver's calls import numba."""
    faults = []
    for path in sorted(Path(package).rglob("*.py")):
        if path.name in COMPILERS:
            continue
        for node in nodes_of(tree_of(path)):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            if any(m.split(".")[0] == "numba" for m in modules):
                faults.append(f"{path.name}:{node.lineno} imports numba: use gpukit._jit or gpukit._cuda")
    return faults


def loops_are_shared_by_by_block(package):
    """Nothing is compiled with parallel=True, whose threads are numba's and end a forked child.

    Compiled functions do not call a by_block, which is called from Python.
    """
    compiled = {f: jitted(f, TWIN_DECORATORS) for f in sorted(Path(package).rglob("*.py"))}
    blocks = {name for nodes in compiled.values() for name, node in nodes.items() if is_by_block(node)}
    inner = [
        f"{path.parent.name}/{path.name}: {name} calls {called}, which is a by_block: call it from Python"
        for path, nodes in compiled.items()
        for name, node in nodes.items()
        for called in sorted(calls_of(node) & blocks - {name})
    ]
    return inner + [
        f"{path.parent.name}/{path.name}:{node.value.lineno} asks for numba's threads: use by_block"
        for path in compiled
        for node in nodes_of(tree_of(path))
        if isinstance(node, ast.keyword) and node.arg == "parallel" and ast.unparse(node.value) == "True"
    ]


def calls_of(function):
    """Return the plain names that a function calls."""
    return {n.func.id for n in ast.walk(function) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}


def streams_have_one_registry(package):
    """Numbers of streams are only in streams.py.

    There is none in a call of random.key or numpy's default_rng([seed, n]), nor in an assignment to a name that ends in
    _STREAM.
    """
    faults = []
    for path in sorted(Path(package).rglob("*.py")):
        for node in nodes_of(tree_of(path)):
            if path.name != "streams.py" and any(isinstance(n, ast.Constant) for n in numbers_of_streams(node)):
                faults.append(
                    f"{path.parent.name}/{path.name}:{node.lineno} numbers a stream: give it a name in streams.py"
                )
    return faults


def numbers_of_streams(node):
    """Return the parts of a node that determine a stream's number, to be searched for literals."""
    if isinstance(node, ast.Assign) and any(re.search(r"_STREAM\b", ast.unparse(t)) for t in node.targets):
        return ast.walk(node.value)
    if not isinstance(node, ast.Call):
        return []
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name == "key" and len(node.args) == 2 and not isinstance(node.args[1], ast.Subscript):
        return ast.walk(node.args[1])
    if name == "default_rng" and node.args and isinstance(node.args[0], ast.List):
        return node.args[0].elts[1:]
    return []


def no_machine_paths(root, names):
    """No file among names (relative to root) contains an absolute path of a particular machine."""
    pattern = re.compile(r"(?<![\w.$}/~])/(?:home|root|Users|work|tmp|mnt|opt/conda)/[\w.-]+")
    faults = []
    for name in names:
        try:
            text = (Path(root) / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            if found := pattern.search(line):
                faults.append(f"{name}:{number} holds the path {found.group()}")
    return faults


def every_folder_is_packaged(root):
    """Every folder of gpukit/ and cli/ with Python files has an __init__.py, without which setup.py omits it."""
    folders = {path.parent for name in ("gpukit", "cli") for path in (Path(root) / name).rglob("*.py")}
    return [
        f"{folder.relative_to(root).as_posix()}/ has no __init__.py, so a wheel would not contain it"
        for folder in sorted(folders)
        if not (folder / "__init__.py").exists()
    ]


def files_stay_short(root, most=600):
    """No source file is longer than `most` lines."""
    files = [f for folder in ("gpukit", "cli") for f in sorted((Path(root) / folder).rglob("*.py"))]
    sizes = {f: f.read_text(encoding="utf-8").count("\n") for f in files}
    return [f"{f.relative_to(root)} has {n} lines, more than {most}" for f, n in sizes.items() if n > most]


VAGUE = {"asked", "begun", "drawn", "found", "told"}  # names that do not say what a value is
PLAIN_NUMBERS = (0, 1, 2)


def vague_names(root):
    """Return messages about values and parameters of gpukit and its commands that are called by VAGUE words."""
    root, messages = Path(root), []
    for path in sorted((*(root / "gpukit").rglob("*.py"), *(root / "cli").rglob("*.py"))):
        for node in nodes_of(tree_of(path)):
            name = node.arg if isinstance(node, ast.arg) else getattr(node, "id", None)
            if name in VAGUE and not isinstance(getattr(node, "ctx", None), ast.Load):
                messages.append(f"{path.relative_to(root)}:{node.lineno}: {name}. Name what it holds.")
    return messages


def literals(tree):
    """Return the lines of a tree with a number in a comparison or a default, except PLAIN_NUMBERS."""
    operands = []
    for node in nodes_of(tree):
        if isinstance(node, ast.Compare):
            operands += [node.left, *node.comparators]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            operands += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    return [one.lineno for one in operands if is_number(one) and getattr(one, "value", None) not in PLAIN_NUMBERS]


def is_number(node):
    """Return True for numbers, their signs, arithmetic of them, and tuples of them."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    if isinstance(node, ast.BinOp):
        return is_number(node.left) and is_number(node.right)
    return isinstance(node, ast.Tuple) and bool(node.elts) and all(map(is_number, node.elts))


def literals_of(package):
    """Return the places of literals, path:line, in the files of a package."""
    package = Path(package)
    files = sorted(package.rglob("*.py"))
    return [f"{path.relative_to(package).as_posix()}:{line}" for path in files for line in literals(tree_of(path))]


def reference_is_fresh(path, text):
    """The file at path is exactly text."""
    path = Path(path)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        return [f"{path.name} is not what docs/build.py writes: run `make docs`"]
    return []
