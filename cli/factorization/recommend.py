"""`gpukit recommend`: the items that users have not rated and would rate best."""

import itertools
import math

import click

from gpukit.cli import models, options, outputs, report
from gpukit.cli.factorization.ids import check_known
from gpukit.cli.stages import Stages
from gpukit.errors import ParameterError

AT_ONCE = 1 << 14  # rows


@click.command()
@click.argument("model")
@click.option("--user", "users", multiple=True, metavar="ID", help="For this user; may be given several times.")
@click.option("--all", "everyone", is_flag=True, help="For every user of the model.")
@click.option("-n", "count", type=click.IntRange(min=1), default=10, show_default=True, help="Items a user.")
@models.titles
@models.evidence
@click.option("--output", metavar="FILE", help="Write user,rank,item,score[,title] here as csv; - is stdout.")
@options.force
@options.device
@options.as_json
@options.quiet
def recommend(model, users, everyone, count, titles, evidence, output, force, device, as_json, quiet):
    """List the items that users have not rated and would rate best.

    The score is the predicted rating, not cut off at the highest rating there is, so that it ranks the best ones too.

    \b
    gpukit recommend my.gpukit --user 42 -n 10 --titles movies.dat
    gpukit recommend my.gpukit --all --output recommendations.csv
    """
    stages = Stages()
    check(users, everyone, as_json, output)
    outputs.check_output(output, "--output", [path for path in (model, titles) if path], force, text=True)
    fitted, chosen = models.open_model(model, device, stages)
    title_of = models.read_title_of(titles)
    wanted = None if everyone else check_known(users, fitted.user_ids_, "user")
    stages.done("reading")
    terminal = output is None or outputs.takes_stdout(output)
    with report.Progress(quiet or terminal) as progress:  # a bar would mix with rows on the terminal
        rows = ranked(fitted, wanted, count, title_of, stages, progress)
        rows = with_evidence(fitted, rows) if evidence else rows
        if output is not None or (everyone and not as_json):
            write_csv(rows, output, columns(bool(titles), evidence))
        else:
            rows = list(rows)
    stages.done("writing")
    if as_json:
        report.print_json(
            {"command": "recommend", "recommendations": rows, "device": str(chosen), "seconds": stages.seconds}
        )
    elif output is None and not everyone:
        report.print_table(rows, {key: key for key in columns(bool(titles), evidence)})
    models.closing_remark(chosen, stages, quiet or as_json)


def check(users, everyone, as_json, output):
    """Raise unless it is clear for whom to recommend and where to."""
    if bool(users) == everyone:
        raise ParameterError("Say for whom: --user ID (several times if need be), or --all, and not both.")
    if as_json and output:
        raise ParameterError("--json prints on stdout and --output writes csv: leave one out.")


def ranked(fitted, users, count, title_of, stages, progress):
    """Yield a dict (user, rank, item, score and, with titles, title) for each recommendation, tile by tile."""
    total, done = len(fitted.user_ids_ if users is None else users), 0
    for tile, items, scores in fitted.recommend_batches(users, count):
        stages.done("recommending")
        for user, its, theirs in zip(tile.tolist(), items.tolist(), scores.tolist()):
            for rank, (item, score) in enumerate(zip(its, theirs), start=1):
                if math.isnan(score):
                    break  # fewer than count items are left for this user
                row = {"user": user, "rank": rank, "item": item, "score": score}
                yield {**row, "title": title_of.get(str(item), "")} if title_of else row
        done += len(tile)
        progress("recommending", done, total)
        stages.done("writing")


def with_evidence(fitted, rows):
    """Yield rows with the number of ratings of their user and of their item, some thousands at a time."""
    rows = iter(rows)
    while some := list(itertools.islice(rows, AT_ONCE)):
        counts = fitted.evidence([row["user"] for row in some], [row["item"] for row in some])
        for row, *numbers in zip(some, *(one.tolist() for one in counts)):
            yield {**row, **dict(zip(models.EVIDENCE, numbers))}


def columns(titled, evidence):
    """The columns of the table and of the csv."""
    more = models.EVIDENCE if evidence else ()
    return ["user", "rank", "item", "score", *more, *(["title"] if titled else [])]


def write_csv(rows, output, names):
    """Write the columns names of rows to the file output, or to standard output when it is None or '-'."""
    with outputs.csv_rows(output, names) as writer:
        writer.writerows([f"{row[name]:.4f}" if name == "score" else row[name] for name in names] for row in rows)
