"""`gpukit similar`: items similar to an item, users similar to a user."""

import click

from gpukit.cli import models, options, report
from gpukit.cli.factorization.table import check_known
from gpukit.cli.options import option
from gpukit.errors import ParameterError


@options.command()
@options.argument("model")
@option("--item ID", "The item.")
@option("--user ID", "The user.")
@option("-n count", "How many.", click.IntRange(min=1), 10)
@option("--by", "What counts: who rated both and how, and the factors; or these alone.", ("evidence", "factors"))
@models.titles
@options.device
@options.printing
def similar(ask, stages):
    """List the items most like --item, or the users most like --user.

    Items are similar if the same users rate both above their baselines. The score is 1 at most and is damped if few
    users rated both. The table shows the users that rated both ("common"; for users, the items rated by both) and the
    ratings of each item (user).

    \b
    gpukit similar my.gpukit --item 2571 --titles movies.dat
    gpukit similar my.gpukit --user 42
    """
    if (ask.item is None) == (ask.user is None):
        raise ParameterError("Say what to compare: --item ID or --user ID, and not both.")
    if ask.user is not None and ask.titles is not None:
        raise ParameterError("--titles are of items, and --user lists users: leave it out.")
    what, typed = ("item", ask.item) if ask.user is None else ("user", ask.user)
    fitted, chosen = models.open_model(ask.model, ask.device, stages)
    title_of = models.read_title_of(ask.titles)
    wanted = check_known([typed], getattr(fitted, f"{what}_ids_"), what)[0]
    stages.done("reading")
    find = fitted.similar_items if what == "item" else fitted.similar_users
    rows = rows_of(what, find(wanted, ask.count, ask.by, with_evidence=True), title_of)
    stages.done("searching")
    title = title_of.get(str(wanted))
    if ask.as_json:
        facts = {what: wanted, **({"title": title} if what == "item" else {}), "by": ask.by}
        report.print_result({**facts, "similar": rows, "device": str(chosen)}, stages)
    else:
        show(rows, what, wanted, title, ask.quiet)
    models.closing_remark(chosen, stages, ask.silent)


def rows_of(what, neighbors, title_of):
    """Return a dict per result: rank, id, score, common, ratings and any title."""
    names = ("rank", what, "score", "common", "ratings")
    columns = (column.tolist() for column in neighbors)
    rows = [dict(zip(names, values)) for values in zip(range(1, len(neighbors[0]) + 1), *columns)]
    models.add_titles(rows, title_of)
    return rows


def show(rows, what, wanted, title, quiet):
    """Print the table, or a message if it is empty."""
    if rows:
        heading = f"{what.capitalize()}s most like {wanted}" + (f" ({title})" if title else "")
        report.print_table(rows, {key: key for key in rows[0]}, heading)
        return
    met = "Nobody who rated it rated another item" if what == "item" else "Nobody else rated an item that they rated"
    report.remark(f"Nothing is known to be like {what} {wanted}. {met}, or the model has no factors.", quiet)
