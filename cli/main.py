"""`gpukit`: the table of verbs, whose files are imported on use."""

import contextlib
import difflib
import importlib
import os
import resource
import sys
import time

import click
from click.shell_completion import CompletionItem, shell_complete

from gpukit import interrupt, timing
from gpukit._version import __version__
from gpukit.cli import report, standard
from gpukit.cli.process import main
from gpukit.errors import DataError, GpukitError, ParameterError
from gpukit.io import notes
from gpukit.runtime.launcher_env import ALONE_VARIABLE, PARENT_VARIABLE, REPORT_SECONDS, launched_ranks
from gpukit.runtime.start import check_threads, defer_unused_modules, gpu_memory_limit

__all__ = ["LazyGroup", "VERBS", "gpukit", "main", "run", "run_alone", "set_interrupt_message"]

notes.listener = report.hear_reader
timing.listener = report.hear_compiler

# verb: (short help, file of cli/ with a click command of its name). --help reads only this table.
VERBS = {
    "train-lshmf": ("Learn to predict ratings: neighbourhood matrix factorization.", "factorization.train_lshmf"),
    "tune": ("Choose the options of train-lshmf by cross-validation.", "factorization.tune"),
    "update": ("Update a trained model with new ratings.", "factorization.update"),
    "predict": ("Predict the ratings of (user, item) pairs.", "factorization.predict"),
    "evaluate": ("Evaluate the predictions and lists of a model.", "factorization.evaluate"),
    "recommend": ("List the items that users would rate best.", "factorization.recommend"),
    "similar": ("List the items most similar to an item, or users to a user.", "factorization.similar"),
    "explain": ("Show the terms of a score or a predicted rating.", "factorization.explain"),
    "export": ("Write a model's factors and biases for other programs.", "factorization.export"),
    "ranksvm": ("Learn to rank: linear RankSVM over all preference pairs.", "ranking.ranksvm"),
    "rank": ("Score the documents of queries with a ranking model.", "ranking.rank"),
    "impute": ("Fill in missing values on the vertices of a graph.", "imputation.impute"),
    "convert": ("Write a binary copy of ratings or documents, which loads at disk speed.", "convert"),
    "synth": ("Generate data with the shapes of well-known datasets.", "synth"),
    "bench": ("Measure speed and accuracy on this machine.", "bench"),
    "doctor": ("Show versions, devices and missing packages.", "doctor"),
}
ALIASES = {"train": "train-lshmf"}
REPLACED = {  # (verb, removed option): what to use instead
    **dict.fromkeys([("tune", "--test"), ("tune", "--test-fraction")], "save the best by --model; evaluate tests it"),
    ("tune", "--plot"): "--json has the curves",
    ("tune", "--exhaustive"): "up to 200,000 ratings every setting is trained on every fold",
    ("update", "--test"): "gpukit evaluate NEW TEST --against OLD compares the models",
    ("evaluate", "--protocol"): "gpukit bench reproduce lsh-mf table10 has it; --lists ranks all items",
    ("bench", "--workers"): "a benchmark runs in one process",
    ("bench reproduce", "--rows"): "--output adds the rows to a table",
    **dict.fromkeys([("predict", "--evidence"), ("recommend", "--evidence")], "evidence() in Python has it"),
    **dict.fromkeys([("train-lshmf", "--negatives"), ("train-lshmf", "--row-solver")], "LSHMF in Python has it"),
    ("impute", "--holdout"): "--weights auto and --center auto find on hidden values where to stop",
}
COMPLETING = "_GPUKIT_COMPLETE"  # set by a shell: bash_source, bash_complete, and the same of zsh and fish


class LazyGroup(click.Group):
    """A click group that imports a verb on use."""

    def list_commands(self, ctx):
        """Return the verbs in the table's order."""
        return list(VERBS)

    def get_command(self, ctx, name):
        """Return the click command of a verb, or None for an unknown name."""
        if name not in VERBS:
            return None
        _, module = VERBS[name]
        command = getattr(importlib.import_module(f"gpukit.cli.{module}"), module.rpartition(".")[2])
        defer_unused_modules()
        return command

    def shell_complete(self, ctx, incomplete):
        """Complete the name of a verb from the table, or an option."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=line) for name, (line, _) in VERBS.items() if name.startswith(incomplete)]

    def resolve_command(self, ctx, args):
        """Resolve a command name or an alias; suggest the closest verb if it is unknown."""
        args = [ALIASES.get(args[0], args[0]), *args[1:]]
        if ctx.resilient_parsing:  # for a shell
            return super().resolve_command(ctx, args)
        matches = [name for name in VERBS if args[0] and name.startswith(args[0])]  # train: train-lshmf, not rank
        near = matches or difflib.get_close_matches(args[0], VERBS, 1)
        if near and args[0] not in VERBS:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        name, command, left = super().resolve_command(ctx, args)
        if not is_shared(command) and not set(left).intersection(ctx.help_option_names):
            check_alone(name)
        return name, command, left

    def format_commands(self, ctx, formatter):
        """Write the list of verbs in --help from the table."""
        shown = {name: f"{name} ({alias})" for alias, name in ALIASES.items()}
        with formatter.section("Commands"):
            formatter.write_dl([(shown.get(name, name), help_line) for name, (help_line, _) in VERBS.items()])


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="gpukit")
def gpukit():
    """Recommend from ratings, rank documents, and fill in missing data on graphs, on a GPU or a CPU.

    \b
    gpukit train-lshmf ratings.csv --model my.gpukit     learn to predict ratings
    gpukit recommend my.gpukit --user 42 -n 10           use it
    gpukit ranksvm MQ2008 --fold 1 --model mq.gpukit     learn to rank
    gpukit rank mq.gpukit MQ2008/Fold1/test.txt          use it
    gpukit impute graph.npz --output full.npz            fill in missing values on a graph
    gpukit COMMAND --help                                every option
    """


def is_shared(command):
    """Return True if the verb can run on several ranks, that is, has --ranks."""
    return any(parameter.name == "ranks" for parameter in command.params)


def check_alone(name):
    """Raise ParameterError for several processes of a verb that is not distributed.

    They were started by mpiexec or srun and would write the same files. The first one reports it; the others exit
    later.
    """
    size, rank = launched_ranks()
    if size > 1 and rank:
        time.sleep(REPORT_SECONDS)
        raise click.exceptions.Exit(ParameterError.exit_code)
    if size > 1:
        how = f"start it once (srun -n 1), or set {ALONE_VARIABLE}=1 for tasks with files of their own"
        raise ParameterError(f"mpiexec or srun started {size} ranks, and {name} runs in one process: {how}.")


def check_limit():
    """Raise MemoryError if `ulimit -v` is too small: BLAS would wait forever."""
    least = 768 << 20  # of address space: numpy, numba and their threads
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY and most < least:
        raise MemoryError(f"ulimit -v allows {most / 2**20:,.0f} MiB, and starting takes {least >> 20:,}")


def check_folder():
    """Raise ParameterError if the current folder was deleted: numba asks for its name when it is imported."""
    try:
        os.getcwd()
    except FileNotFoundError as error:
        raise ParameterError("The current folder was deleted. Change to another one (cd).") from error


def set_interrupt_message(what):
    """Set the message of a verb for an interrupt.

    Example: set_interrupt_message("The checkpoint ck.gpukit can be resumed.").
    """
    click.get_current_context().find_root().meta["gpukit.survived"] = what


def run_alone(arguments=None):
    """Call `run` as a process of its own, with any standard streams."""
    if instruction := os.environ.get(COMPLETING):
        return shell_complete(gpukit, {}, "gpukit", COMPLETING, instruction)
    standard.fill()
    standard.word_warnings()
    with contextlib.suppress(ParameterError):  # reported by `run`
        if launched_ranks()[1]:  # only the first rank prints, also help
            standard.discard(1)
    code = run(arguments)
    standard.leave()
    return code


def run(arguments=None):
    """Run the command line and return its exit code.

    0: completed; 1: failed; 2: invalid request or data; 128 + n: stopped by signal n. gpukit's own errors are one line
    on
    stderr.
    """
    ctx = None
    try:
        arguments = list(sys.argv[1:] if arguments is None else arguments)
        with gpukit.make_context("gpukit", list(arguments)) as ctx:
            ctx.meta["gpukit.arguments"] = arguments  # for other ranks of the same command
            check_limit()
            check_folder()
            check_threads()
            gpu_memory_limit()  # refuses a wrong value
            launched_ranks()
            gpukit.invoke(ctx)
        sys.stdout.flush()
        return 0
    except GpukitError as error:
        return _complain(f"Error: {error}", error.exit_code)
    except (KeyboardInterrupt, click.Abort) as stop:
        if (why := rank_failure_message()) is not None:
            return _complain(f"Error: {why}", 1)
        tell_others(stop)
        if getattr(stop, "reported", False):  # by rank 0
            return interrupt.exit_code(stop)
        left = ctx.meta.get("gpukit.survived", "") if ctx else ""
        return _complain(f"Interrupted. {left or 'No file was left half written.'}", interrupt.exit_code(stop))
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        verb = (error.ctx.info_name, error.ctx.command_path) if error.ctx else ("", "gpukit")
        hint = REPLACED.get((verb[0], getattr(error, "option_name", "")), f"{verb[1]} --help lists the options")
        text = error.format_message().replace("\n\t", " ")  # click lists the choices of a missing argument in lines
        return _complain(f"Error: {text} ({hint})", error.exit_code)
    except BrokenPipeError:  # `gpukit recommend ... | head`: the reader has finished
        return 0
    except (MemoryError, ImportError, OSError, RuntimeError, SystemError) as error:
        line = importlib.import_module("gpukit.device.memory").describe_out_of_memory(error)
        if line is not None:
            return _complain(f"Error: {line}", 1)
        if getattr(error, "filename", None) is None:
            raise
        return _complain(f"Error: {error.filename} cannot be used: {error.strerror}.", DataError.exit_code)


def tell_others(stop):
    """Report a stop to ranks that are not joined yet.

    They would otherwise report a kill.
    """
    if PARENT_VARIABLE in os.environ:  # join_team removes it
        with contextlib.suppress(BaseException), interrupt.defer():
            with importlib.import_module("gpukit.parallel.current_team").join_team():
                raise stop


def rank_failure_message():
    """Return the message of a rank that was ended because another one has failed, None for other ranks."""
    why = getattr(sys.modules.get("gpukit.parallel.heartbeat"), "exit_reasons", None)
    return why[0] if why else None


def _complain(line, code):
    with contextlib.suppress(OSError, KeyboardInterrupt):  # the first rank of mpiexec reports errors common to all
        if line:
            if "gpukit.cli.teams" in sys.modules:
                sys.modules["gpukit.cli.teams"].let_first_speak()
            report.echo(" ".join(line.split("\n")), err=True)
    return code


if __name__ == "__main__":
    main()
