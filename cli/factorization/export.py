"""`gpukit export`: factors and biases as arrays, as a table or as vectors."""

import click

from gpukit.cli import models, options, outputs, report
from gpukit.cli.options import option
from gpukit.cli.report import Stages
from gpukit.factorization.answers import exporting


@click.command()
@click.argument("model")
@click.argument("output", metavar="OUT")
@option("--side", "Whose numbers.", ("both", "users", "items"))
@option("--vectors", "Vectors whose products are predictions, in place of factors and biases.", bool)
@options.force
@options.as_json
@options.quiet
def export(model, output, side, vectors, force, as_json, quiet):
    """Write the factors and biases of MODEL with their ids to OUT, in units of the ratings.

    OUT's suffix says how: .npz has an array for each of them (user_ids, user_factors, item_bias, ..., mean, scale, and
    the neighbours with their influences), .csv and .parquet a row for each user and item: side, id, ratings, bias,
    factor_0, ...; - writes csv on stdout.

    --vectors is for an index of vectors: the inner product of a user's and an item's is the predicted rating, but for
    the neighbours' part, and not cut off at the ends of the scale.

    \b
    gpukit export my.gpukit factors.npz
    gpukit export my.gpukit items.csv --side items
    gpukit export my.gpukit index.npz --vectors
    """
    stages = Stages()
    aside = outputs.takes_stdout(output, as_json)
    outputs.check_output(output, "OUT", [model], force, text=True)
    exporting.check_export(output)
    fitted, _ = models.open_model(model, "cpu", stages)
    fitted.export(output, side, vectors)
    stages.done("writing")
    facts = {"command": "export", "output": output, "side": side, "vectors": vectors, "bytes": outputs.size_of(output)}
    sizes = dict(zip(("users", "items"), (len(fitted.user_ids_), len(fitted.item_ids_))))
    facts |= {name: size for name, size in sizes.items() if side in ("both", name)}
    facts["factors"] = fitted.item_factors_.shape[1]
    if as_json:
        report.print_json({**facts, "seconds": stages.seconds})
        return
    whose = " and ".join(f"{facts[name]:,} {name}" for name in sizes if name in facts)
    size = "" if aside else f"; {outputs.spelled_size(facts['bytes'])}"
    report.remark(f"{output}: {whose}, {facts['factors']} factors{size}. {stages.line()}", quiet)
