"""Write what a job compiles to signatures.txt: python -m gpukit.compilation JOB COMMAND ...

The job is a command of gpukit, which is run. Its lines replace those of the same job, or with --more are added.
"""

import contextlib
import sys

from gpukit import _jit
from gpukit.cli import main as command
from gpukit.compilation.signatures import FILE, Task, tasks_of, text_of


def main(job, more, arguments):
    """Run a command of gpukit; write the Tasks that its calls from Python are."""
    calls, first_use = [], _jit.Function._first_use

    @contextlib.contextmanager
    def recorded(self):
        known = set(self.overloads)
        with first_use(self):
            yield
        calls.extend((self.py_func, types) for types in self.overloads if types not in known)

    _jit.Function._first_use = recorded
    code = command.run(arguments)
    tasks = [Task(made.__module__, made.__qualname__, text_of(types)) for made, types in calls]
    before = tasks_of(job) if more else []
    tasks = dict.fromkeys([*before, *(task for task in tasks if task.types)])
    others = [line for line in FILE.read_text().splitlines() if line.split()[0] != job]
    lines = [" ".join((job, *task)) for task in tasks]
    FILE.write_text("\n".join(sorted([*others, *lines], key=lambda line: line.split()[0])) + "\n")
    return code


if __name__ == "__main__":
    name, *words = sys.argv[1:]
    is_more = words[:1] == ["--more"]
    sys.exit(main(name, is_more, words[is_more:]))
