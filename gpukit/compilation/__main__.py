"""Write what a job compiles to signatures.txt: python -m gpukit.compilation JOB COMMAND ...

The job is a command of gpukit, which is run. Its lines replace those of the same job, or with --more are added.
"""

import contextlib
import sys

from gpukit import _jit
from gpukit._cuda import Kernel
from gpukit.cli import main as command
from gpukit.compilation.signatures import FILE, Task, tasks_of, text_of


def main(job, more, arguments):
    """Run a command of gpukit; write the Tasks that its calls from Python are."""
    calls, first_use, compile_kernel = [], _jit.Function._first_use, Kernel.compile

    def note(dispatcher, name, kinds):
        calls.append(Task(dispatcher.py_func.__module__, name, text_of(kinds)))

    @contextlib.contextmanager
    def record_function(self):
        known = set(self.overloads)
        with first_use(self):
            yield
        for types in self.overloads.keys() - known:
            note(self, self.py_func.__qualname__, types)

    def record_kernel(self, types):
        note(self, self.listed_name, types)
        return compile_kernel(self, types)

    _jit.Function._first_use, Kernel.compile = record_function, record_kernel
    code = command.run(arguments)
    before = tasks_of(job) if more else []
    tasks = dict.fromkeys([*before, *(task for task in calls if task.types)])
    others = [line for line in FILE.read_text().splitlines() if line.split()[0] != job]
    lines = [" ".join((job, *task)) for task in tasks]
    FILE.write_text("\n".join(sorted([*others, *lines], key=lambda line: line.split()[0])) + "\n")
    return code


if __name__ == "__main__":
    name, *words = sys.argv[1:]
    is_more = words[:1] == ["--more"]
    sys.exit(main(name, is_more, words[is_more:]))
