"""`gpukit explain`: one score as the sum of its parts."""

import click

from gpukit.cli import models, options, report
from gpukit.cli.factorization import listing
from gpukit.cli.options import option
from gpukit.factorization.lists.recommending import BY

DONE = {"ratings": "rated", "clicks": "clicked"}


@options.command()
@options.argument("model")
@option("--user ID", "The user.", required=True)
@option("--item ID", "The item.", required=True)
@option("-n count", "Ratings of the user to show.", click.IntRange(min=1), 5)
@option("--by", "Score to explain: that of lists (saved in MODEL), or the predicted rating.", BY)
@models.titles
@options.printing
def explain(ask, stages):
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
    stamp, quiet = models.stamp(ask.model), ask.silent
    fitted, chosen = models.open_model(ask.model, "cpu", stages)
    title_of = models.read_title_of(ask.titles)
    with listing.lists_learned(fitted, ask, stamp, stages):
        explanation = fitted.explain(ask.user, ask.item, by=ask.by, unknown="baseline")
        stages.done("explaining")
    if ask.as_json:
        report.print_result({**facts_of(explanation, title_of), "device": str(chosen)}, stages)
    else:
        show(explanation, ask.count, title_of, "clicks" if fitted.feedback_ == "implicit" else "ratings")
        remark_unknown(explanation, ask.quiet)
    models.closing_remark(chosen, stages, quiet)


def facts_of(explanation, title_of):
    """Return the --json object of an Explanation."""
    facts, rated = explanation._asdict(), [rating._asdict() for rating in explanation.rated]
    models.add_titles([facts, *rated], title_of)
    return {**facts, "clipped": explanation.clipped, "rated": rated}


def show(explanation, count, title_of, learned):
    """Print the parts as a table with the sum last, and any clipping.

    learned: 'ratings' or 'clicks'.
    """
    rows = parts_of(explanation, count, title_of, learned)
    columns = ["rating", "weight"] if explanation.by == "lists" else ["rating", "expected", "weight"]
    keys = ["part", *(columns if explanation.rated else []), "share"]
    title = title_of.get(str(explanation.item))
    shown = f"{explanation.item} ({title})" if title else explanation.item
    heading = f"User {explanation.user}, item {shown}: {explanation.prediction:.4f}"
    report.print_table(rows, {key: key for key in keys}, heading)
    if explanation.clipped:
        report.echo(f"The sum {explanation.total:.4f} lies beyond the scale: {explanation.prediction:g} is predicted.")


def parts_of(explanation, count, title_of, learned):
    """Return [dict] of the parts that add up to the total.

    Keys: part, share; for rated neighbours also rating, expected, weight.
    """
    done, user, item = DONE[learned], f"{explanation.user_ratings:,}", f"{explanation.item_ratings:,}"
    shares = {f"item's popularity ({learned}: {item})": explanation.item_bias}
    if explanation.by != "lists":
        shares = {f"mean of all {learned}": explanation.mean, f"user's bias ({learned}: {user})": explanation.user_bias}
        shares |= {f"item's bias ({learned}: {item})": explanation.item_bias, "factors": explanation.factors}
    rows = [{"part": part, "share": share} for part, share in shares.items()]
    for rating in explanation.rated[:count]:
        row = rating._asdict()
        name = title_of.get(str(row.pop("item")))
        rows.append({"part": f"{done} {rating.item}" + (f" ({name})" if name else ""), **row})
    rest = explanation.rated[count:]
    if rest:
        rows.append({"part": f"{done} others ({len(rest)})", "share": sum(rating.share for rating in rest)})
    if explanation.by == "lists" and round(explanation.factors, 4):
        rows.append({"part": "approximate solution", "share": explanation.factors})
    if explanation.n_unrated:
        rows.append({"part": f"neighbours not {done} ({explanation.n_unrated})", "share": explanation.unrated})
    return [*rows, {"part": "sum", "share": explanation.total}]


def remark_unknown(explanation, quiet):
    """Print a remark if the user or the item is unknown to the model."""
    known = {"user": (explanation.known_user, explanation.user), "item": (explanation.known_item, explanation.item)}
    for what, (is_known, identifier) in known.items():
        if not is_known:
            report.remark(f"The model does not know {what} {identifier}: predicted from what is known.", quiet)
