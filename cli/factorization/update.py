"""`gpukit update`: learn from new ratings."""

from gpukit.cli import models, options, outputs, report
from gpukit.cli.factorization.table import chosen_line, read_table
from gpukit.cli.options import option
from gpukit.errors import DataError, NoRowsError, ParameterError
from gpukit.factorization.online.inputs import bounds_of, empty_entry
from gpukit.factorization.settings import RETRAINED, ROWS


@options.command()
@options.argument("model")
@options.argument("new")
@option("--model target FILE", "Save the updated model here; MODEL itself with --force.")
@option("--rows", "Known users and items are adjusted, or stay unchanged (Algorithm 4).", ROWS, "move")
@option("--widen-scale", "Accept ratings outside the model's scale, and counts below 0 as no clicks.", bool)
@options.force
@options.ratings_file
@options.device
@options.printing
def update(ask, stages):
    """Update the model in the file MODEL with the ratings in the file NEW.

    A model of ratings is trained again, with settings chosen again, when these have grown by 4 % since the last
    training. The output reports it. Not with --rows frozen.

    New users and items are added. A new rating of a known pair replaces the old one. --model is required: MODEL stays
    unchanged unless --model names it, with --force.

    \b
    gpukit update my.gpukit tonight.csv --model my.gpukit --force
    gpukit update my.gpukit tonight.csv --model new.gpukit --rows frozen
    gpukit evaluate new.gpukit test.csv --against my.gpukit
    """
    if ask.target is None:
        raise ParameterError(f"Give --model FILE for the updated model, or --model {ask.model} --force to replace it.")
    outputs.check_output(ask.target, "--model", [ask.new], ask.force)
    stamp = models.stamp(ask.target)
    fitted, chosen = models.open_model(ask.model, ask.device, stages)
    new = read_new(ask, fitted)
    stages.done("reading")
    summary = learn(ask, fitted, new)
    stages.done("updating", summary["seconds"])
    if models.stamp(ask.target) != stamp:
        raise DataError(f"--model {ask.target} was replaced by another process meanwhile, and is kept. Update again.")
    fitted.save(ask.target)
    stages.done("writing")
    summary = {**summary, "total_users": len(fitted.user_ids_), "total_items": len(fitted.item_ids_)}
    show(ask, fitted, summary, chosen, stages)


def read_new(ask, fitted):
    """Return the new Ratings; None for an empty table with a header.

    DataError for a rating outside the scale.
    """
    try:
        return read_table(ask, ask.new, bounds=None if ask.widen_scale else bounds_of(fitted))
    except NoRowsError as nothing:
        report.remark(f"{nothing} The model stays as it is.", ask.quiet)
        return None


def learn(ask, fitted, new):
    """Update the model; return its entry of updates_ with the number of unchanged ratings."""
    if new is None:
        return {**empty_entry(fitted, ask.rows), "unchanged": 0}
    with report.Progress(ask.silent) as progress:
        fitted.partial_fit(new, **report.pick(ask, "rows duplicates widen_scale"), progress=progress)
    summary = fitted.updates_[-1]
    same = len(new) - summary["ratings"] - summary["corrected"] if fitted.feedback_ == "explicit" else 0
    return {**summary, "unchanged": same}


def show(ask, fitted, summary, chosen, stages):
    """Print the result as JSON or lines."""
    if ask.as_json:
        return report.print_result({**summary, "model": ask.target, "device": str(chosen)}, stages)
    learned, retrained = "clicks" if fitted.feedback_ == "implicit" else "ratings", summary["rows"] == RETRAINED
    new = f"{summary['ratings']:,} new {learned}, {summary['corrected']:,} corrected"
    new += f", {summary['unchanged']:,} known as they are" * (summary["unchanged"] > 0)
    new += f"; {summary['users']:,} new users, {summary['items']:,} new items"
    how = f"trained again on all {summary['settled']:,}" if retrained else f"{summary['walked']:,} {learned} processed"
    report.echo(f"{new}; {how}.")
    report.echo(stages.line())
    if retrained:
        report.remark(chosen_line(fitted.chosen_), ask.quiet)
    report.remark(f"Model saved in {ask.target}, on {chosen}.", ask.quiet)
