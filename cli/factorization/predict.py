"""`gpukit predict`: predicted ratings of pairs."""

from functools import partial

import click

from gpukit.cli import models, options, outputs, report
from gpukit.cli.factorization.table import unknown_line, unknown_pairs
from gpukit.cli.options import option
from gpukit.cli.report import Stages

TILE = 1 << 20  # pairs predicted and written at a time


@click.command()
@click.argument("model")
@click.argument("pairs")
@option("--output FILE", "Write user,item,prediction here instead of on stdout.")
@options.force
@options.table_file
@models.evidence
@options.device
@options.quiet
def predict(model, pairs, output, force, file_format, columns, sep, evidence, device, quiet):
    """Predict the rating of every (user, item) of the file PAIRS (- is stdin); further columns are ignored.

    Writes csv: user,item,prediction; --evidence adds user_ratings,item_ratings. A user or item unknown to MODEL is
    predicted from what it does know.

    \b
    gpukit predict my.gpukit pairs.csv --output predictions.csv
    """
    from gpukit.ratings import read_pairs

    stages = Stages()
    outputs.check_output(output, "--output", [model, pairs], force, text="plain")
    fitted, chosen = models.open_model(model, device, stages)
    users, items = read_pairs(pairs, file_format, columns, sep)
    stages.done("reading")
    names = ["user", "item", "prediction", *(models.EVIDENCE if evidence else ())]
    outputs.write_csv(output, names, predict_blocks(fitted, users, items, evidence, stages))
    stages.done("writing")
    if line := unknown_line(len(users), *unknown_pairs(fitted, users, items)):
        report.remark(line, quiet)
    models.closing_remark(chosen, stages, quiet)


def predict_blocks(fitted, users, items, evidence, stages):
    """Yield blocks of rows (user, item, prediction); see io/tables.py.

    With --evidence, rows also have the numbers of ratings.
    """
    from gpukit.io import tables

    spell = partial(tables.spell_rounded, places=4)
    if fitted.feedback_ == "implicit":  # scores have no fixed number of decimals
        spell = partial(tables.spell_each, spell="{:.6g}".format)
    for start in range(0, len(users), TILE):
        tile = slice(start, start + TILE)
        pairs = users[tile], items[tile]
        values = fitted.predict(pairs, unknown="baseline")
        counts = fitted.evidence(*pairs, unknown="zero") if evidence else ()
        stages.done("predicting")
        columns = [column.__getitem__ for column in (*pairs, *counts)]
        columns.insert(2, lambda part, values=values: spell(values[part]))
        yield from tables.row_blocks(columns, len(values))
        stages.done("writing")
