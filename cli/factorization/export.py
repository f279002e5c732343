"""`gpukit export`: factors and biases as arrays, as a table or as vectors; a ranking model as text or ONNX."""

from pathlib import Path

import click

from gpukit.cli import models, options, outputs, report
from gpukit.cli.options import option
from gpukit.cli.report import Stages
from gpukit.errors import ParameterError
from gpukit.factorization.answers import exporting
from gpukit.persist import load_header


@click.command()
@click.argument("model")
@click.argument("output", metavar="OUT")
@option("--vectors", "Vectors whose products are predictions, in place of factors and biases.", bool)
@options.force
@options.as_json
@options.quiet
def export(model, output, vectors, force, as_json, quiet):
    """Write the factors and biases of MODEL with their ids to OUT, in units of the ratings.

    OUT's suffix says how: .npz has an array for each of them (user_ids, user_factors, item_bias, ..., mean, scale, and
    the neighbours with their influences), .csv and .parquet a row for each user and item: side, id, ratings, bias,
    factor_0, ...; - writes csv on stdout. Of a model of ranksvm, .onnx is a graph from features to scores (needs onnx),
    and .txt has a line index:weight for each feature.

    --vectors is for an index of vectors: the inner product of a user's and an item's is the predicted rating, but for
    the neighbours' part, and not cut off at the ends of the scale.

    \b
    gpukit export my.gpukit factors.npz
    gpukit export my.gpukit index.npz --vectors
    """
    stages = Stages()
    aside = outputs.takes_stdout(output, as_json)
    outputs.check_output(output, "OUT", [model], force, text=True)
    if Path(output).suffix in (".txt", ".onnx") and load_header(model).get("class") in models.RANKING:
        if vectors:
            raise ParameterError(f"--vectors is about models of ratings, and {model} ranks documents: leave it out.")
        export_weights(model, output, stages, as_json, quiet)
        return
    exporting.check_export(output)
    fitted, _ = models.open_model(model, "cpu", stages)
    fitted.export(output, vectors=vectors)
    stages.done("writing")
    shape = dict(zip(("users", "items", "factors"), (len(fitted.user_ids_), *fitted.item_factors_.shape)))
    facts = {"command": "export", "output": output, "vectors": vectors, "bytes": outputs.size_of(output), **shape}
    if as_json:
        report.print_json({**facts, "seconds": stages.seconds})
        return
    whose = f"{facts['users']:,} users and {facts['items']:,} items"
    size = "" if aside else f"; {outputs.format_size(facts['bytes'])}"
    report.remark(f"{output}: {whose}, {facts['factors']} factors{size}. {stages.line()}", quiet)


def export_weights(model, output, stages, as_json, quiet):
    """Write a ranking model as text or as an ONNX graph, by the suffix."""
    fitted, _ = models.open_model(model, "cpu", stages, models.RANKING)
    is_graph = Path(output).suffix == ".onnx"
    (fitted.save_onnx if is_graph else fitted.save_text)(output)
    stages.done("writing")
    facts = {"command": "export", "output": output, "bytes": outputs.size_of(output)}
    if as_json:
        report.print_json({**facts, "features": fitted.n_features_in_, "seconds": stages.seconds})
    what = "scores" if is_graph else "weights"
    report.remark(f"{output}: {what} of {fitted.n_features_in_:,} features. {stages.line()}", quiet or as_json)
