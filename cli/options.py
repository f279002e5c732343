"""Options of several verbs, and option names in messages of the library."""

import contextlib
import re

import click

from gpukit.errors import GpukitError
from gpukit.factorization.objective import FEEDBACK, LOSSES, ROW_SOLVERS

FORMATS = ("auto", "csv", "tsv", "movielens", "ml-100k", "netflix", "netflix-mm", "ncf", "npz", "parquet", "gkr")
AUTO = "auto"  # the number of ranks with the shortest estimated time
FROM_DATA = "default: by the ratings"
METRICS = ("pa", "pa_ties", "tau", "ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "mean_ndcg", "map")


class Count(click.ParamType):
    """Number of processes: a positive integer or 'auto'."""

    name = "count"

    def convert(self, value, param, ctx):
        """Return an int or 'auto'."""
        if value == AUTO or isinstance(value, int):
            return value
        if str(value).isdecimal() and int(value):
            return int(value)
        return self.fail(f"{value!r} is no number from 1 on, nor auto.", param, ctx)


device = click.option(
    "--device",
    default="auto",
    show_default=True,
    metavar="auto|cpu|cuda|cuda:N",
    help="Device to run on; auto uses a GPU if there is one.",
)
seed = click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="Seed of all random choices.",
)
ranks = click.option(
    "--ranks",
    type=Count(),
    metavar="N|auto",
    help="Run N processes on this machine's CPU; auto: one process, whose threads use all cores.",
)
gpus = click.option(
    "--gpus",
    type=Count(),
    metavar="N|auto",
    help="Run on N GPUs of this machine, a process each; auto: all if that is faster, else one.",
)
dask = click.option(
    "--dask",
    metavar="ADDRESS|local",
    help="Run on all workers of a Dask cluster, a process each: the address of its scheduler, or local for workers on "
    "this machine. Files are read and written by the workers.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
quiet = click.option("--quiet", "-q", is_flag=True, help="No progress bar and no remarks; results and errors only.")
force = click.option("--force", is_flag=True, help="Replace existing files; without it they are kept.")

file_format = click.option(
    "--format",
    "file_format",
    type=click.Choice(FORMATS),
    default="auto",
    show_default=True,
    metavar="NAME",
    help=f"Format of the file: {', '.join(FORMATS)}.",
)
columns = click.option(
    "--columns",
    metavar="NAMES",
    help="Names of the columns, in order, e.g. user,item,-,rating (-: ignored).",
)
sep = click.option("--sep", metavar="TEXT", help="Separator of columns.  [default: detected]")
null = click.option(
    "--null",
    type=click.Choice(["error", "min", "zero"]),
    default="error",
    show_default=True,
    help="Meaning of the value NULL: the feature's smallest in the query, or 0.",
)
duplicates = click.option(
    "--duplicates",
    type=click.Choice(["last", "mean", "error"]),
    default="last",
    show_default=True,
    help="Rating of a repeated (user, item) pair.",
)


split = click.option(
    "--split",
    type=click.Choice(["random", "time", "user-time"]),
    default="random",
    show_default=True,
    help="Held-out ratings: a random part, the last of all by time, or the last of each user.",
)
every_split = click.option(
    "--split",
    type=click.Choice(["random", "time", "user-time", "user-last", "user-one", "users"]),
    default="random",
    show_default=True,
    metavar="NAME",
    help="Held-out ratings: a random part (random), the last of all (time) or of each user (user-time); one "
    "of each user, the last (user-last) or any (user-one); all ratings of some users (users).",
)
ndcg = click.option(
    "--ndcg",
    type=click.Choice(["letor", "standard", "skip-blank", "linear"]),
    default="letor",
    show_default=True,
    help="Discount and rules of NDCG: LETOR's, the usual ones, these without queries lacking relevant documents, or "
    "the usual ones with labels as gains.",
)
relevant = click.option(
    "--relevant",
    type=float,
    default=1.0,
    show_default=True,
    metavar="LABEL",
    help="Documents from this label on count as relevant in MAP, p@K and mrr (LETOR 1, MSLR 2).",
)
more = click.option(
    "--show", metavar="NAMES", help="More metrics, such as ndcg@20,p@5,mrr,err@10: ndcg, p and err at any rank."
)


def shared(command):
    """Add --device --seed --json --quiet: parameters device, seed, as_json, quiet."""
    return device(seed(as_json(quiet(command))))


ties = click.option(
    "--ties",
    type=click.Choice(["average", "file"]),
    default="average",
    show_default=True,
    help="Documents of equal scores: the mean over all their orders, or the file's order, as LETOR's scripts have it.",
)


def scoring(command):
    """Add --ndcg --relevant --ties --show: parameters ndcg, relevant, ties, show."""
    return ndcg(relevant(ties(more(command))))


def table_file(command):
    """Add --format --columns --sep: parameters file_format, columns, sep."""
    return file_format(columns(sep(command)))


OF_CLICKS = (
    click.option(
        "--feedback",
        type=click.Choice(FEEDBACK),
        default="auto",
        show_default=True,
        help="Meaning of the file: ratings (explicit), or choices of items, perhaps with counts (implicit: "
        "clicks). auto: clicks if there are no ratings, or all are equal.",
    ),
    click.option("--positive-from", type=float, metavar="RATING", help="Ratings from here on are clicks, others not."),
    click.option(
        "--loss",
        type=click.Choice(LOSSES),
        default="auto",
        show_default=True,
        help="Of clicks: squared error over all pairs, or cross-entropy or bpr with sampled negatives.",
    ),
    click.option("--negatives", type=click.IntRange(min=1), metavar="N", help="Items drawn for each click (sampled)."),
    click.option("--unobserved-weight", type=float, metavar="W", help="Of a pair without a click; a click has 1."),
    click.option(
        "--row-solver",
        type=click.Choice(ROW_SOLVERS),
        default="auto",
        show_default=True,
        help="How ials solves for a row: exactly, or by conjugate gradients; auto takes what is faster for --factors.",
    ),
)


def implicit(command):
    """Add the options of implicit feedback.

    --feedback --positive-from --loss --negatives --unobserved-weight --row-solver, with parameters of these names.
    """
    for option in reversed(OF_CLICKS):
        command = option(command)
    return command


class Naming:
    """Names of options for parameters in messages.

    options: {parameter: option}. quoted: parameters whose names are also ordinary words; they are replaced only in
    forms such as hash='minhash', or before a requirement.
    """

    def __init__(self, options, quoted=None):
        quoted = quoted or {}
        self.options = options | quoted
        named = [*map(re.escape, options), *(rf"(?<![\w/.-]){name}(?=='| must be )" for name in quoted)]
        self.pattern = re.compile(rf"\b({'|'.join(named)})(?:\b|(?<=True))(?:(=)(?:'([\w,-]+)')?)?")

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
