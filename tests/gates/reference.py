"""Check that what docs/reference shows has numpydoc sections for its parameters, its result and an example."""

import importlib
import inspect
import re

NAMES = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
FILTERS = re.compile(r"filters: \[(.*)\]")
ITEM = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: :|$)")
TITLE = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


def public_callables(root):
    """Yield (name, callable) of everything that the pages of docs/reference show."""
    pages = "\n".join(path.read_text() for path in sorted((root / "docs" / "reference").glob("*.md")))
    hidden = [
        re.compile(text.lstrip("!"))
        for text in re.findall(r'"(![^"]+)"', FILTERS.search((root / "mkdocs.yml").read_text())[1])
    ]
    for name in NAMES.findall(pages):
        module, _, attribute = name.rpartition(".")
        shown = getattr(importlib.import_module(module), attribute)
        if inspect.isclass(shown):
            yield name, shown
            yield from methods_of(name, shown, hidden)
        elif not inspect.ismodule(shown):
            yield name, shown


def methods_of(name, shown, hidden):
    """Yield (name, function) of the methods of a class that gpukit defines and no filter hides."""
    for key in dir(shown):
        method = getattr(shown, key)
        is_own = inspect.isroutine(method) and (getattr(method, "__module__", "") or "").startswith("gpukit")
        if is_own and not any(pattern.search(key) for pattern in hidden):
            yield f"{name}.{key}", method


def faults_of(name, function):
    """Return the faults of a docstring: parameters that it lacks, a section for the result, an example."""
    sections = sections_of(inspect.getdoc(function) or "")
    wanted = parameters_of(function)
    missing = [one for one in wanted if one not in sections.get("Parameters", ())]
    faults = [f"{name}: no parameter {', '.join(missing)}"] if missing else []
    unknown = [one for one in sections.get("Parameters", ()) if one not in wanted]
    faults += [f"{name}: {', '.join(unknown)} is not a parameter"] if unknown else []
    gives = not inspect.isclass(function) and inspect.signature(function).return_annotation not in (None, "None")
    faults += [f"{name}: no section Returns"] if gives and not {"Returns", "Yields"} & set(sections) else []
    return faults + ([] if "Examples" in sections else [f"{name}: no section Examples"])


def parameters_of(function):
    """Return the names of the parameters of a callable."""
    given = inspect.signature(function).parameters
    return [name for name in given if name not in ("self", "cls") and not name.startswith("_")]


def sections_of(text):
    """Return {title: [names of its items]} of a docstring."""
    parts = TITLE.split(text)
    return {
        title: [
            name.strip("* ") for line in body.splitlines() if (item := ITEM.match(line)) for name in item[1].split(",")
        ]
        for title, body in zip(parts[1::2], parts[2::2])
    }
