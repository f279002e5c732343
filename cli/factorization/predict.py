"""`gpukit predict`: predicted ratings of pairs."""

from functools import partial

from gpukit.cli import models, options, outputs, report
from gpukit.cli.factorization.table import unknown_lines, unknown_pairs
from gpukit.cli.options import option
from gpukit.ratings import read_pairs

TILE = 1 << 20  # pairs predicted and written at a time


@options.command()
@options.argument("model")
@options.argument("pairs")
@option("--output FILE", "Write user,item,prediction here instead of on stdout.")
@options.force
@options.table_file
@options.device
@options.quiet
def predict(ask, stages):
    """Predict the rating of every (user, item) of the file PAIRS (- is stdin); further columns are ignored.

    Writes csv: user,item,prediction. A user or item unknown to MODEL is predicted from what it does know.

    \b
    gpukit predict my.gpukit pairs.csv --output predictions.csv
    """
    outputs.check_output(ask.output, "--output", [ask.model, ask.pairs], ask.force, text="plain")
    fitted, chosen = models.open_model(ask.model, ask.device, stages)
    users, items = read_pairs(ask.pairs, ask.file_format, ask.columns, ask.sep)
    stages.done("reading")
    outputs.write_csv(ask.output, ["user", "item", "prediction"], predict_blocks(fitted, users, items, stages))
    stages.done("writing")
    report.remark_all(unknown_lines(len(users), *unknown_pairs(fitted, users, items)), ask.quiet)
    models.closing_remark(chosen, stages, ask.quiet)


def predict_blocks(fitted, users, items, stages):
    """Yield blocks of rows (user, item, prediction); see io/tables.py."""
    from gpukit.io import tables

    spell = partial(tables.spell_rounded, places=4)
    if fitted.feedback_ == "implicit":  # scores have no fixed number of decimals
        spell = partial(tables.spell_each, spell="{:.6g}".format)
    for start in range(0, len(users), TILE):
        tile = slice(start, start + TILE)
        pairs = users[tile], items[tile]
        values = fitted.predict(pairs, unknown="baseline")
        stages.done("predicting")
        columns = [column.__getitem__ for column in pairs]
        yield from tables.row_blocks([*columns, lambda part, values=values: spell(values[part])], len(values))
        stages.done("writing")
