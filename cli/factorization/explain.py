"""`gpukit explain`: one score as the sum of its parts."""

from types import SimpleNamespace

import click

from gpukit.cli import models, options, report
from gpukit.cli.factorization import listing
from gpukit.cli.options import option
from gpukit.cli.report import Stages
from gpukit.factorization.lists.recommending import BY

DONE = {"ratings": "rated", "clicks": "clicked"}


@click.command()
@click.argument("model")
@option("--user ID", "The user.", required=True)
@option("--item ID", "The item.", required=True)
@option("-n count", "Ratings of the user to show.", click.IntRange(min=1), 5)
@option(
    "--by",
    "Score to explain: that of recommend (lists; trained once and saved in MODEL), or the predicted rating.",
    BY,
)
@models.titles
@options.as_json
@options.quiet
def explain(**values):
    """Show the parts of the score of --user and --item, which add up to it.

    The score is what recommend shows: each rating of the user adds a share to it, and so does the item's popularity.
    --by rating: the predicted rating, whose parts are those of the model's formula: the mean, what is usual for the
    user and for the item, their factors, each rating that the user gave to a neighbour of the item (share = (rating -
    expected) x weight), and all neighbours that the user has not rated. Where the sum lies beyond the scale, a line
    says what it was cut off to.

    A user or an item that the model does not know has no part.

    \b
    gpukit explain my.gpukit --user 42 --item 2571 --titles movies.dat
    """
    ask, stages = SimpleNamespace(**values), Stages()
    stamp, quiet = listing.stamp(ask.model), ask.quiet or ask.as_json
    fitted, chosen = models.open_model(ask.model, "cpu", stages)
    title_of = models.read_title_of(ask.titles)
    if ask.by == "lists":
        listing.learn_lists(fitted, ask, stamp, stages)
    stages.done("reading")
    found = fitted.explain(ask.user, ask.item, by=ask.by, unknown="baseline")
    stages.done("explaining")
    if ask.as_json:
        report.print_json({**facts_of(found, title_of), "device": str(chosen), "seconds": stages.seconds})
    else:
        show(found, ask.count, title_of, "clicks" if fitted.feedback_ == "implicit" else "ratings")
        remark_unknown(found, ask.quiet)
    models.closing_remark(chosen, stages, quiet)


def facts_of(found, title_of):
    """Return the --json object of an Explanation."""
    rated = [one._asdict() for one in found.rated]
    for row in rated if title_of else ():
        row["title"] = title_of.get(str(row["item"]), "")
    title = {"title": title_of.get(str(found.item), "")} if title_of else {}
    facts = {"command": "explain", **found._asdict(), **title, "clipped": found.clipped}
    return {**facts, "rated": rated}


def show(found, count, title_of, learned):
    """Print the parts as a table with the sum last, and any clipping.

    learned: 'ratings' or 'clicks'.
    """
    rows = parts_of(found, count, title_of, learned)
    columns = ["rating", "weight"] if found.by == "lists" else ["rating", "expected", "weight"]
    keys = ["part", *(columns if found.rated else []), "share"]
    title = title_of.get(str(found.item))
    shown = f"{found.item} ({title})" if title else found.item
    report.print_table(rows, {key: key for key in keys}, f"User {found.user}, item {shown}: {found.prediction:.4f}")
    if found.clipped:
        report.echo(f"The sum {found.total:.4f} lies beyond the scale: {found.prediction:g} is predicted.")


def parts_of(found, count, title_of, learned):
    """Return [dict] of the parts that add up to the total.

    Keys: part, share; for rated neighbours also rating, expected, weight.
    """
    done = DONE[learned]
    user, item = (f"{found.user_ratings:,}", f"{found.item_ratings:,}")
    if found.by == "lists":
        rows = [{"part": f"item's popularity ({learned}: {item})", "share": found.item_bias}]
    else:
        rows = [
            {"part": f"mean of all {learned}", "share": found.mean},
            {"part": f"user's bias ({learned}: {user})", "share": found.user_bias},
            {"part": f"item's bias ({learned}: {item})", "share": found.item_bias},
            {"part": "factors", "share": found.factors},
        ]
    for one in found.rated[:count]:
        row = one._asdict()
        name = title_of.get(str(row.pop("item")))
        rows.append({"part": f"{done} {one.item}" + (f" ({name})" if name else ""), **row})
    rest = found.rated[count:]
    if rest:
        rows.append({"part": f"{done} others ({len(rest)})", "share": sum(one.share for one in rest)})
    if found.by == "lists" and round(found.factors, 4):
        rows.append({"part": "approximate solution", "share": found.factors})
    if found.n_unrated:
        rows.append({"part": f"neighbours not {done} ({found.n_unrated})", "share": found.unrated})
    return [*rows, {"part": "sum", "share": found.total}]


def remark_unknown(found, quiet):
    """Print a remark if the user or the item is unknown to the model."""
    known = {"user": (found.known_user, found.user), "item": (found.known_item, found.item)}
    for what, (there, one) in known.items():
        if not there:
            report.remark(f"The model does not know {what} {one}: predicted from what is known.", quiet)
