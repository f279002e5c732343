"""The gates of imports: rules for importers, modules and places. Each returns the faults it finds."""

import ast
import functools
import re
from pathlib import Path
from typing import NamedTuple

from gates.gates import KERNEL_DECORATORS, holds_kernels, jitted, tree_of, twin_file

HEAVY = {  # packages that take long to import; numba.cuda takes as long again as numba, mpi4py starts MPI
    "distributed",
    "mpi4py",
    "cupy",
    "cupyx",
    "onnx",
    "llvmlite",
    "implicit",
    "matplotlib",
    "networkx",
    "numba",
    "numba.cuda",
    "numpy",
    "pandas",
    "pyarrow",
    "scipy",
    "sklearn",
    "statsmodels",
    "lightgbm",
    "pypots",
    "xgboost",
    "surprise",
    "libmf",
    "threadpoolctl",
    "torch",
}


class Import(NamedTuple):
    """An import of module by the file of importer.

    within: its function, None at module level.
    """

    importer: str
    module: str
    within: str | None
    line: int


class House:
    """All imports of gpukit/ and cli/ (as gpukit.cli) below root."""

    def __init__(self, root):
        root = Path(root)
        self.files = {module_of(f, root): f for name in ("gpukit", "cli") for f in sorted((root / name).rglob("*.py"))}
        self.trees = {m: tree_of(f) for m, f in self.files.items()}
        self.homes = {module: table(tree, "_HOMES", {}) for module, tree in self.trees.items()}
        self.imports = {module: self.imports_of(module) for module in self.files}

    def imports_of(self, module):
        """Return [Import] of a module, in order."""
        found = []
        for node, within in statements(self.trees[module]):
            targets = [a.name for a in node.names] if isinstance(node, ast.Import) else self.targets(node)
            found += [Import(module, target, within, node.lineno) for target in targets]
        return found

    def targets(self, node):
        """Return the modules of a `from ... import ...`: modules themselves, or those that define the names."""
        wholes = [(f"{node.module}.{alias.name}", alias.name) for alias in node.names]
        return [whole if whole in self.files else self.home_of(node.module, name) for whole, name in wholes]

    def home_of(self, module, name):
        """Return the module that defines a name, which packages import on demand."""
        while name in self.homes.get(module, {}):
            module = f"{module}.{self.homes[module][name]}"
        return module

    @functools.cache  # noqa: B019 (a house lives as long as a test)
    def heavy(self, module):
        """Return the packages of HEAVY that importing a module loads."""
        found, seen, queue = set(), set(), [module]
        while queue:
            one = queue.pop()
            if one in seen:
                continue
            seen.add(one)
            if one not in self.files:
                parts = one.split(".")
                found |= {parts[0], ".".join(parts[:2])} & HEAVY
                continue
            queue += [one.rpartition(".")[0]] if "." in one else []
            queue += [i.module for i in self.imports[one] if i.within is None]
        return frozenset(found)


def module_of(path, root):
    """Return gpukit.package.file of a file; cli/ is gpukit.cli."""
    parts = list(path.relative_to(root).with_suffix("").parts)
    parts = parts if parts[0] == "gpukit" else ["gpukit", *parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def table(tree, name, default):
    """Return the literal that a module assigns to a name; _HOMES is {name: file} of names imported on demand."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    return default


def names_for_editors(tree):
    """Return {name: module or package} that a module imports for type checkers alone."""
    found = {}
    for node in tree.body:
        if is_for_type_checkers(node):
            for one in node.body:
                found |= {alias.asname: (one.module, alias.name) for alias in one.names}
    return found


def is_for_type_checkers(node):
    """Return True for `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def editors_see_names_on_demand(root):
    """A package imports the names of its table _HOMES, and submodules in _MODULES, for type checkers too."""
    faults = []
    for module, tree in House(root).trees.items():
        homes = {name: (f"{module}.{home}", name) for name, home in table(tree, "_HOMES", {}).items()}
        homes |= {name: (module, name) for name in table(tree, "_MODULES", ())}
        seen = names_for_editors(tree) if homes else {}
        faults += [
            f"{module}: {name} is imported from {homes.get(name)} on demand, from {seen.get(name)} for type checkers"
            for name in sorted({*homes, *seen})
            if homes.get(name) != seen.get(name)
        ]
    return faults


def statements(node, within=None):
    """Yield (import statement, name of its function or None) of a tree; not those for type checkers alone."""
    for child in node.orelse if is_for_type_checkers(node) else ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, within
        elif isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
            is_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            yield from statements(child, within or (child.name if is_function else None))


def imports_have_no_circle(root):
    """No module imports itself through others, imports inside functions included."""
    house = House(root)
    edges = {m: {i.module for i in found if i.module in house.files} for m, found in house.imports.items()}
    return [f"a circle of imports: {' -> '.join(circle)}" for circle in circles(edges)]


def circles(edges):
    """Return a cycle of each strongly connected part of a graph {node: nodes}, by depth-first search."""
    found, done = [], set()

    def walk(node, path):
        if node in path:
            found.append([*path[path.index(node) :], node])
        elif node not in done:
            for other in sorted(edges.get(node, ())):
                walk(other, [*path, node])
            done.add(node)

    for node in sorted(edges):
        walk(node, [])
    return found


def order_of_rooms(page):
    """Return {package: its line} of the list in docs/architecture.md, counted from below."""
    text = Path(page).read_text(encoding="utf-8")
    lines = re.search(r"^## The import order$[\s\S]*?\n\n((?:    .*\n)+)", text, re.M).group(1).splitlines()
    return {owner: len(lines) - at for at, line in enumerate(lines) for owner in line.split()}


def imports_go_down(root, order):
    """A package imports only packages on lower lines of the order, and every package is in it.

    Files called __main__.py start what is above them.
    """
    house = House(root)
    packages = {owner_of(module) for module in house.files} - {""}
    faults = [f"{owner} is missing in the import order" for owner in sorted(packages - set(order))]
    faults += [f"the import order has {owner}, which is not there" for owner in sorted(set(order) - packages)]
    if faults:
        return faults
    return [
        f"{one.importer}:{one.line} imports {one.module}, which is not below it"
        for one in (one for found in house.imports.values() for one in found if not is_start(one.importer))
        if owner_of(one.module) in order
        and owner_of(one.importer) not in ("", owner_of(one.module))
        and order[owner_of(one.module)] >= order[owner_of(one.importer)]
    ]


def owner_of(module):
    """Return the file or folder of gpukit/ of a module; "" for gpukit itself, its starters and others."""
    parts = module.split(".")
    return "" if parts[0] != "gpukit" or is_start(module) or len(parts) == 1 else parts[1]


def is_start(module):
    """True for a file that `python -m` starts."""
    return module.endswith(".__main__")


def imports_in_functions_put_something_off(root):
    """An import inside a function defers a heavy package, or a module that loads one which its file does not.

    Estimators are exempt: they load most of their packages.
    """
    house = House(root)
    return [
        f"{one.importer}:{one.line} imports {one.module} inside {one.within}(), which puts nothing off"
        for found in house.imports.values()
        for one in found
        if one.within and not one.module.endswith(".estimator") and puts_nothing_off(house, one)
    ]


def puts_nothing_off(house, one):
    """Return True if a module is already loaded, or costs no further imports."""
    if any(other.module == one.module and other.within is None for other in house.imports[one.importer]):
        return True
    foreign = one.module not in house.files and house.heavy(one.module)  # parts of a heavy package count as heavy
    return not foreign and not house.heavy(one.module) - house.heavy(one.importer)


SMALL = 40  # lines; below, a module with one importer belongs in its neighbour
DEEPEST = 3  # folders below gpukit/
NOT_IMPORTED = {"__init__", "__main__", "cpu", "gpu", "kernels", "twins"}  # selected by name, or a pair


def small_modules(root):
    """Return the modules of gpukit/ with fewer than SMALL lines and at most one importer in gpukit/ and cli/."""
    house, importers = House(root), {}
    for found in house.imports.values():
        for one in found:
            importers.setdefault(one.module, set()).add(one.importer)
    return [
        module
        for module, path in house.files.items()
        if module.startswith("gpukit.") and not module.startswith("gpukit.cli")
        if path.stem not in NOT_IMPORTED and not path.stem.endswith(("_kernels", "_twins"))
        if path.read_text(encoding="utf-8").count("\n") < SMALL and len(importers.get(module, ())) <= 1
    ]


def folders_are_shallow(root, most=DEEPEST):
    """No folder is more than `most` folders below gpukit/."""
    package = Path(root) / "gpukit"
    folders = sorted({path.parent.relative_to(package) for path in package.rglob("*.py")})
    return [
        f"gpukit/{folder.as_posix()}/ is {len(folder.parts)} folders deep, more than {most}"
        for folder in folders
        if len(folder.parts) > most
    ]


def longest_chain(root):
    """Return the modules of the longest chain of imports, imports inside functions included."""
    house = House(root)
    edges = {
        m: sorted({i.module for i in found if i.module in house.files} - {m}) for m, found in house.imports.items()
    }

    @functools.cache
    def chain(module):
        return (module, *max((chain(other) for other in edges[module]), key=len, default=()))

    return max(map(chain, edges), key=len, default=())


OF_THE_HOUSE = {"compile", "cudasim", "fuzz", "gates", "golden", "limits", "reliability", "sanitize"}  # of all packages


def tests_lie_as_what_they_test(root, of_the_house=OF_THE_HOUSE):
    """A folder of tests/ mirrors a folder or a module of gpukit/; one of tests/cli/, a folder of cli/."""
    root, faults = Path(root), []
    for folder in sorted({path.parent for path in (root / "tests").rglob("test_*.py")}):
        place = folder.relative_to(root / "tests")
        if not place.parts or place.parts[0] in of_the_house:
            continue
        house = root if place.parts[0] == "cli" else root / "gpukit"
        homes = [house / place, house / f"{place}.py", house / f"_{place}.py"]
        if not any(home.exists() for home in homes):
            faults.append(f"tests/{place.as_posix()}/ has the place of nothing in gpukit/ or cli/")
    return faults


STEPS = {"cpu", "gpu", "steps"}  # files that have the same classes, one per device, and the Protocols of both
ALIKE = {  # (package, class): kinds of one concept, each in the part that has that kind
    ("factorization", "Contest"),  # data for trials of candidates: ratings, clicks
    ("factorization", "Rating"),  # a lane's data of the current rating: single, in a batch
    ("factorization", "Registers"),  # a lane's local arrays: single, in a batch
    ("parallel", "Messages"),  # transports between ranks
}


def names_mean_one_thing(package, alike=ALIKE):
    """Public classes of one package with the same name are in files of one name, or of a device's steps."""
    homes, package = {}, Path(package)
    for path in sorted(package.glob("*/**/*.py")):
        owner = path.relative_to(package).parts[0]
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and (owner, node.name) not in alike:
                homes.setdefault((owner, node.name), []).append(path)
    return [
        f"{owner}: {name} means several things: " + ", ".join(f.relative_to(package / owner).as_posix() for f in files)
        for (owner, name), files in homes.items()
        if len({"steps" if f.stem in STEPS else f.stem for f in files}) > 1
    ]


def environment_is_read_when_asked(root):
    """No file of gpukit/ or cli/ reads os.environ at import, because later values would have no effect.

    Files may set variables that other packages read at import (setdefault).
    """
    root = Path(root)
    files = [f for name in ("gpukit", "cli") for f in sorted((root / name).rglob("*.py"))]
    return [
        f"{f.relative_to(root).as_posix()}:{node.lineno} reads the environment when it is imported"
        for f in files
        for node in at_import(tree_of(f))
        if ast.unparse(node) in ("os.environ", "os.getenv", "environ", "getenv")
    ]


def at_import(node):
    """Return the nodes of a tree that are evaluated at import, except setdefault of the environment."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.Attribute) and child.attr == "setdefault":
            continue
        yield child
        yield from at_import(child)


STANDARD = {  # files whose meaning docs/architecture.md defines for all packages
    *("__init__", "__main__", "formulas", "kernels", "twins", "gpu", "cpu", "steps", "plan", "inputs", "run"),
    *("estimator", "serve", "saving"),
}


def cards_name_their_files(package):
    """A folder's __init__.py, its card, names the files and folders in it.

    Exceptions are files with the same meaning in all packages, twins (named like their kernels), and files directly in
    the package.
    """
    faults, package = [], Path(package)
    for card in sorted(package.glob("*/**/__init__.py")):
        folder, text = card.parent, card.read_text(encoding="utf-8")
        if folder.name in ("kernels", "twins"):
            continue
        parts = {f.stem for f in folder.glob("*.py")} | {f.parent.name for f in folder.glob("*/__init__.py")}
        parts = {part for part in parts - STANDARD if not part.endswith("_twins")}
        lacking = sorted(part for part in parts if not re.search(rf"\b{part}\b", text))
        faults += [f"the card of {folder.relative_to(package).as_posix()}/ does not name {part}" for part in lacking]
    return faults


def kernels_and_twins_have_equal_files(package):
    """A folder kernels/ has a folder twins/ with the same files, kernels.py a twins.py, and x_kernels.py an x_twins.py.

    Files with device functions only need none.
    """
    package = Path(package)
    kernels = [f for f in sorted(package.rglob("*.py")) if holds_kernels(f) and f.name != "__init__.py"]
    faults = [
        f"{f.relative_to(package)} has no {twin_file(f).relative_to(package)}"
        for f in kernels
        if jitted(f, KERNEL_DECORATORS) and not twin_file(f).exists()
    ]
    twins = {twin_file(f) for f in kernels}
    files = [f for pattern in ("twins.py", "*_twins.py", "twins/*.py") for f in sorted(package.rglob(pattern))]
    spare = [f for f in files if f not in twins]
    return faults + [f"{f.relative_to(package)} is no kernels' twin" for f in spare if f.name != "__init__.py"]
