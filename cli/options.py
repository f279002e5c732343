"""Options that several verbs share, each a decorator, so that they have one name, one meaning and one help text."""

import click

FORMATS = ("auto", "csv", "tsv", "movielens", "ml-100k", "netflix", "netflix-mm", "ncf", "npz", "gkr")

device = click.option(
    "--device", default="auto", show_default=True, metavar="auto|cpu|cuda|cuda:N",
    help="Where to work; auto takes a GPU if there is one.",
)
seed = click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="Every random choice follows from it.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
quiet = click.option("--quiet", "-q", is_flag=True, help="No progress bar and no remarks; results and errors only.")

file_format = click.option(
    "--format", "file_format", type=click.Choice(FORMATS), default="auto", show_default=True, metavar="NAME",
    help=f"What the file is: {', '.join(FORMATS)}.",
)
columns = click.option(
    "--columns", metavar="NAMES", help="What the columns are, in order, e.g. user,item,-,rating (-: ignored).",
)
sep = click.option("--sep", metavar="TEXT", help="What stands between columns.  [default: found out]")
null = click.option(
    "--null", type=click.Choice(["error", "min", "zero"]), default="error", show_default=True,
    help="What the value NULL stands for: the feature's smallest in the query, or 0.",
)
duplicates = click.option(
    "--duplicates", type=click.Choice(["last", "mean", "error"]), default="last", show_default=True,
    help="What a repeated (user, item) pair means.",
)


def shared(command):
    """--device --seed --json --quiet: parameters device, seed, as_json, quiet."""
    return device(seed(as_json(quiet(command))))


def table_file(command):
    """--format --columns --sep: parameters file_format, columns, sep."""
    return file_format(columns(sep(command)))
