"""Options of several verbs, and option names in messages of the library."""

import contextlib
import functools
import re
from types import SimpleNamespace

import click

from gpukit.cli.report import Stages
from gpukit.errors import GpukitError, ParameterError
from gpukit.factorization.settings import FEEDBACK, LOSSES

FORMATS = ("auto", "csv", "tsv", "movielens", "ml-100k", "netflix", "netflix-mm", "ncf", "npz", "parquet", "gkr")
FILES = ("FILE", "MODEL", "IDS")  # placeholders of options that may name a file
PATH = click.Path(readable=False)  # completed as the name of a file, and not checked
AUTO = "auto"  # the number of GPUs with the shortest estimated time
FROM_DATA = "default: by the ratings"


def option(names, text, kind=None, default=None, **more):
    """Return a click option that shows its default.

    names : flags, then the placeholder of the value in --help, then the name of the parameter if it is another one,
        separated by spaces: "--output -o FILE", "--json as_json"
    text : help line
    kind : click type; a tuple of choices, whose first one is the default; or `bool`, for a flag
    """
    words = names.split()
    metavar = next((word for word in words if word[0] != "-" and not (word.isidentifier() and word.islower())), None)
    if kind is bool:
        return click.option(*words, is_flag=True, help=text)
    if isinstance(kind, tuple):
        kind, default = click.Choice(kind), kind[0] if default is None else default
    kind = PATH if kind is None and metavar in FILES else kind
    names = [word for word in words if word != metavar]
    more |= {} if default is None else {"default": default, "show_default": True}
    return click.option(*names, type=kind, help=text, **{"metavar": metavar, **more})


def argument(name, **more):
    """Return a click argument whose value may be the name of a file."""
    return click.argument(name, type=PATH, **more)


class Count(click.ParamType):
    """Number of GPUs: a positive integer or 'auto'."""

    name = "count"

    def convert(self, value, param, ctx):
        """Return an int or 'auto'."""
        if value == AUTO or isinstance(value, int):
            return value
        if str(value).isdecimal() and int(value):
            return int(value)
        return self.fail(f"{value!r} is no number from 1 on, nor auto.", param, ctx)


class SliceShape(click.ParamType):
    """Parameter type MxN: two positive integers, as (m, n)."""

    name = "MxN"

    def convert(self, value, param, ctx):
        m, _, n = value.lower().replace("×", "x").partition("x")
        if not (m.isdecimal() and n.isdecimal() and int(m) and int(n)):
            self.fail(f"{value!r} is not rows x columns of a slice, such as 50x50.", param, ctx)
        return int(m), int(n)


def slices(text):
    """Return the option --slice MxN, parameter slice_shape: (m, n) or None."""
    return option("--slice slice_shape MxN", text, SliceShape())


def together(*added):
    """Return a decorator that adds several options to a command, in their order in --help."""
    return lambda command: functools.reduce(lambda result, add: add(result), reversed(added), command)


device = option(
    "--device auto|cpu|cuda|cuda:N",
    "Device to run on; auto: a GPU if there is one and the work is large enough.",
    default="auto",
)
seed = option("--seed", "Seed of all random choices.", click.IntRange(0, 2**63 - 1), 0)
as_json = option("--json as_json", "Print the result as one JSON object.", bool)
quiet = option("--quiet -q", "No progress bar and no remarks; results and errors only.", bool)
force = option("--force", "Replace existing files; without it they are kept.", bool)
printing = together(as_json, quiet)
shared_options = together(device, seed, printing)

ranks = option("--ranks N", "Run N processes on the CPU; one uses all cores, so this is for tests.", click.IntRange(1))
gpus = option("--gpus N|auto", "Run on N GPUs of this machine; auto: on all if that is faster.", Count())
dask = option("--dask ADDRESS|local", "Run on all workers of a Dask cluster, which read and write the files.")
on_ranks = together(ranks, gpus)

file_format = option("--format file_format NAME", f"Format of the file: {', '.join(FORMATS)}.", FORMATS, "auto")
columns = option("--columns NAMES", "Names of the columns, in order, e.g. user,item,-,rating (-: ignored).")
sep = option("--sep TEXT", "Separator of columns.  [default: detected]")
duplicates = option("--duplicates", "Rating of a repeated (user, item) pair.", ("last", "mean", "error"))
table_file = together(file_format, columns, sep)
ratings_file = together(table_file, duplicates)

SPLITS = ("random", "time", "user-time", "user-last", "user-one", "users")
split = option("--split", "Held-out ratings: random, the last of all, or the last of each user.", SPLITS[:3])
every_split = option(
    "--split NAME", f"Held-out ratings: {', '.join(SPLITS)} (-last, -one: one of each; users: all of some).", SPLITS
)

FEEDBACK_HELP = "Data of the file: ratings (explicit) or clicks (implicit); auto: clicks without different ratings."
implicit = together(
    option("--feedback", FEEDBACK_HELP, FEEDBACK, "auto"),
    option("--positive-from RATING", "Least rating that is a click; others are none.", float),
    option("--loss", "Of clicks: squared error of all pairs, or of sampled negatives.", LOSSES, "auto"),
    option("--unobserved-weight W", "Weight of a pair without a click; a click has 1.", float),
)

null = option("--null", "Value of NULL: the feature's smallest in the query, or 0.", ("error", "min", "zero"))
scoring = together(
    option("--ndcg", "Discount, gains and rules of NDCG.", ("letor", "standard", "skip-blank", "linear")),
    option("--relevant LABEL", "Least label of relevant documents in MAP, p@K and mrr (MSLR: 2).", float, 1.0),
    option("--ties", "Equal scores: the mean over all orders, or the file's (LETOR's scripts).", ("average", "file")),
    option("--show NAMES", "More metrics, such as ndcg@20,p@5,mrr,err@10: ndcg, p and err at any rank."),
)


class Naming:
    """Names of options for parameters in messages.

    options: {parameter: option}. quoted: parameters whose names are also ordinary words; they are replaced only in
    forms such as hash='minhash', or before a requirement.
    """

    def __init__(self, options, quoted=None):
        quoted = quoted or {}
        self.options = options | quoted
        patterns = [*map(re.escape, options), *(rf"(?<![\w/.-]){name}(?=='| must be )" for name in quoted)]
        self.pattern = re.compile(rf"\b({'|'.join(patterns)})(?:\b|(?<=True))(?:(=)(?:'([\w,-]+)')?)?")

    def spoken(self, text):
        """Return a message with options for parameters: `loss='bpr'` is `--loss bpr`."""
        return self.pattern.sub(lambda match: self.options[match[1]] + " " * bool(match[2]) + (match[3] or ""), text)

    @contextlib.contextmanager
    def named(self):
        """Rewrite library errors to name options instead of parameters."""
        try:
            yield
        except GpukitError as error:
            renamed = type(error)(self.spoken(str(error)))
            renamed.exit_code = error.exit_code  # of another rank's error
            raise renamed from None


def refuse_empty(values):
    """Raise ParameterError for an empty value of an option or argument, as of an unset variable of the shell."""
    for parameter in click.get_current_context().command.params:
        value = values.get(parameter.name)
        if "" in (value if isinstance(value, tuple) else (value,)):
            name = parameter.get_error_hint(None).replace("'", "")
            raise ParameterError(f"{name} is empty. Give it a value, or leave it out.")


def given_options(is_chosen):
    """Return the options that the user gave and is_chosen(name of the parameter) selects, as text; "" for none."""
    context, default = click.get_current_context(), click.core.ParameterSource.DEFAULT
    given = [one for one in context.command.params if context.get_parameter_source(one.name) is not default]
    return ", ".join(one.opts[0] for one in given if is_chosen(one.name))


def refuse_unused(names, reason):
    """Raise ParameterError for the options that the user gave of names, which are separated by spaces.

    reason: the words after the options.
    """
    if given := given_options(names.split().__contains__):
        raise ParameterError(f"{given} {reason}")


BASIC, ADVANCED, PAPERS = "Options", "Advanced options", "Options of the papers' algorithms"
FEW = 20  # parameters, which need no sections
SECTIONS = {  # of options with these names; others are in BASIC
    ADVANCED: (
        *("factors", "neighbors", "no_neighbors", "epochs", "learning_rate", "regularization", "early_stop"),
        *("loss", "unobserved_weight", "deterministic", "precision", "no_refit"),
        *("checkpoint", "resume", "seed", "ranks"),  # train-lshmf
        *("min_support", "popularity", "diversity"),  # recommend
        *("metric", "ndcg", "relevant", "ties", "scale", "null", "eps"),  # ranksvm
        *("nearest", "window", "baselines", "confidence", "dtype", "tolerance"),  # impute
    ),
    PAPERS: (
        *("solver", "lsh_p", "lsh_q", "lsh_bits", "lsh_psi", "search", "hash"),
        *("rates", "beta", "influence_rate", "influence_regularization"),
        *("weights", "center", "lambda_decay", "iterations", "no_acceleration", "no_rank_phase", "basis_size"),
    ),
}


class Sectioned(click.Command):
    """A command whose --help lists options by section if there are many."""

    def format_options(self, ctx, formatter):
        """Write the options of each section in their order."""
        if len(self.params) <= FEW:
            return super().format_options(ctx, formatter)
        records = {BASIC: [], ADVANCED: [], PAPERS: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record:
                records[section_of(parameter.name)].append(record)
        for title, lines in records.items():
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)


def section_of(name):
    """Return the section of an option by its parameter's name."""
    return next((title for title, names in SECTIONS.items() if name in names), BASIC)


def command(name=None, parent=click):
    """Return a decorator that makes a click command of a function (ask, stages).

    ask: the parameters by name, and silent: no remarks; stages: a report.Stages. name: by default that of the function;
    parent: a group.
    """

    def make(function):
        def run(**values):
            refuse_empty(values)
            silent = values.get("quiet") or values.get("as_json")  # remarks would disturb the JSON's reader
            return function(SimpleNamespace(**values, silent=bool(silent)), Stages())

        return parent.command(name, cls=Sectioned)(functools.update_wrapper(run, function))

    return make
