"""`gpukit export`: factors and biases as arrays, as a table or as vectors; a ranking model as text or ONNX."""

from pathlib import Path

from gpukit.cli import models, options, outputs, report
from gpukit.cli.options import option
from gpukit.errors import ParameterError
from gpukit.factorization.answers import exporting
from gpukit.persist import load_header


@options.command()
@options.argument("model")
@options.argument("output", metavar="OUT")
@option("--vectors", "Vectors whose products are predictions, in place of factors and biases.", bool)
@options.force
@options.printing
def export(ask, stages):
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
    aside = outputs.takes_stdout(ask.output, ask.as_json)
    outputs.check_output(ask.output, "OUT", [ask.model], ask.force, text=True)
    suffix = Path(ask.output).suffix
    if load_header(ask.model).get("class") in models.RANKING:
        if suffix not in (".txt", ".onnx"):
            raise ParameterError(f"{ask.model} holds a RankSVM: OUT must end in .txt or .onnx; got {ask.output!r}.")
        if ask.vectors:
            raise ParameterError(f"--vectors is for models of ratings; {ask.model} ranks documents. Leave it out.")
        fitted, _ = models.open_model(ask.model, "cpu", stages, models.RANKING)
        (fitted.save_onnx if suffix == ".onnx" else fitted.save_text)(ask.output)
        shape, what = {"features": fitted.n_features_in_}, "scores" if suffix == ".onnx" else "weights"
        line = f"{what} of {fitted.n_features_in_:,} features"
    else:
        exporting.check_export(ask.output)
        fitted, _ = models.open_model(ask.model, "cpu", stages)
        with report.collect_warnings(ask.silent):
            fitted.export(ask.output, vectors=ask.vectors)
        shape = dict(zip(("users", "items", "factors"), (len(fitted.user_ids_), *fitted.item_factors_.shape)))
        line = f"{shape['users']:,} users and {shape['items']:,} items, {shape['factors']} factors"
        line += "" if aside else f"; {outputs.format_size(outputs.size_of(ask.output))}"
        shape = {"vectors": ask.vectors, **shape}
    stages.done("writing")
    if ask.as_json:
        report.print_result({"output": ask.output, "bytes": outputs.size_of(ask.output), **shape}, stages)
    report.remark(f"{ask.output}: {line}. {stages.line()}", ask.silent)
