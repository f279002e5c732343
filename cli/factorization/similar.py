"""`gpukit similar`: the items most like one item."""

import click

from gpukit.cli import models, options, report
from gpukit.cli.factorization.ids import check_known
from gpukit.cli.stages import Stages


@click.command()
@click.argument("model")
@click.option("--item", required=True, metavar="ID", help="The item.")
@click.option("-n", "count", type=click.IntRange(min=1), default=10, show_default=True, help="How many.")
@models.titles
@options.device
@options.as_json
@options.quiet
def similar(model, item, count, titles, device, as_json, quiet):
    """List the items most like --item: those whose factors point the same way.

    \b
    gpukit similar my.gpukit --item 2571 --titles movies.dat
    """
    stages = Stages()
    fitted, chosen = models.open_model(model, device, stages)
    title_of = models.read_title_of(titles)
    wanted = check_known([item], fitted.item_ids_, "item")[0]
    stages.done("reading")
    ids, scores = fitted.similar_items(wanted, count)
    rows = [
        {"rank": rank, "item": other, "score": score}
        for rank, (other, score) in enumerate(zip(ids.tolist(), scores.tolist()), start=1)
    ]
    for row in rows if title_of else ():
        row["title"] = title_of.get(str(row["item"]), "")
    stages.done("searching")
    if as_json:
        report.print_json(
            {
                "command": "similar",
                "item": wanted,
                "title": title_of.get(str(wanted)),
                "similar": rows,
                "device": str(chosen),
                "seconds": stages.seconds,
            }
        )
    else:
        report.print_table(
            rows,
            {key: key for key in rows[0]} if rows else {},
            f"Items most like {wanted}" + (f" ({title_of[str(wanted)]})" if str(wanted) in title_of else ""),
        )
    models.closing_remark(chosen, stages, quiet or as_json)
